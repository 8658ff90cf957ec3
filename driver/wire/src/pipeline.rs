//! BEGIN sent together with the first statement and COMMIT together with the last one, as an application with a
//! pipelining client does. The answers are the same and all are read; only round trips are saved.

/// A statement's place in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    Begin,
    Inside,
    Commit,
}

impl Frame {
    pub fn of(sql: &str) -> Frame {
        let sql = sql.trim().trim_end_matches(';');
        match sql.split_whitespace().next() {
            Some("BEGIN") if !sql.contains(';') => Frame::Begin,
            Some("COMMIT") if sql == "COMMIT" => Frame::Commit,
            _ => Frame::Inside,
        }
    }
}

/// What of a transaction's frame is under way.
#[derive(Default)]
pub struct Pipeline {
    pub on: bool,
    /// BEGIN as it will be sent before the next statement; empty when none waits.
    pub held: Vec<u8>,
    /// COMMIT is to go with the next statement.
    pub commit_follows: bool,
    /// COMMIT went with the last statement and was answered.
    pub committed: bool,
}

impl Pipeline {
    /// A new transaction: nothing of an earlier one, which may have failed, is left.
    #[inline]
    pub fn start(&mut self) {
        if self.on {
            self.held.clear();
            self.commit_follows = false;
            self.committed = false;
        }
    }

    /// Whether a statement needs no round trip of its own, as its COMMIT was answered before.
    #[inline]
    pub fn is_done(&mut self, frame: Frame) -> bool {
        frame == Frame::Commit && std::mem::take(&mut self.committed)
    }

    /// Moves a BEGIN that waits into `out`; whether there was one.
    #[inline]
    pub fn lead(&mut self, out: &mut Vec<u8>) -> bool {
        let waits = !self.held.is_empty();
        out.append(&mut self.held);
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_shows_in_the_first_word() {
        assert_eq!(Frame::of("BEGIN"), Frame::Begin);
        assert_eq!(Frame::of("BEGIN ISOLATION LEVEL READ COMMITTED"), Frame::Begin);
        assert_eq!(Frame::of("BEGIN; SELECT 1"), Frame::Inside);
        assert_eq!(Frame::of("COMMIT"), Frame::Commit);
        assert_eq!(Frame::of("COMMIT AND CHAIN"), Frame::Inside);
        assert_eq!(Frame::of("SELECT 1"), Frame::Inside);
    }

    #[test]
    fn a_new_transaction_forgets_what_was_left_of_a_failed_one() {
        let mut pipeline = Pipeline {
            on: true,
            held: vec![1],
            commit_follows: true,
            committed: true,
        };
        pipeline.start();
        let mut out = Vec::new();
        assert!(!pipeline.lead(&mut out) && out.is_empty());
        assert!(!pipeline.commit_follows && !pipeline.is_done(Frame::Commit));
    }
}
