//! BEGIN that is sent before a statement instead of alone (`crate::pipeline`).

use dyno_core::session::Failure;

use super::{Connection, Rowset};

impl Connection {
    /// Reads the answer to a BEGIN that was sent before a statement. The server runs the statement in any case, so that
    /// its answer is to be read also when BEGIN was refused (the inner error).
    #[inline]
    pub(super) async fn begun(&mut self, led: bool) -> Result<Result<(), Failure>, Failure> {
        if !led {
            return Ok(Ok(()));
        }
        match self.complete(Rowset::Skip).await {
            Err(lost @ Failure::Lost(_)) => Err(lost),
            begun => Ok(begun.map(|_| ())),
        }
    }

    /// Sends a BEGIN that waits for a statement, because something else comes.
    pub(super) async fn settle(&mut self) -> Result<(), Failure> {
        self.out.clear();
        if self.pipeline.lead(&mut self.out) {
            self.flush().await?;
            self.complete(Rowset::Skip).await?;
        }
        Ok(())
    }
}
