//! The command line: a verb and `--name value` pairs.

use std::collections::BTreeMap;

pub struct Arguments {
    values: BTreeMap<String, String>,
}

impl Arguments {
    /// Reads what follows the verb. Every name must be among those that the verb knows.
    pub fn parse(words: impl IntoIterator<Item = String>, known: &[&str]) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").filter(|name| known.contains(name));
            let name = name.ok_or_else(|| format!("`{word}` is no option here; there are --{}", known.join(", --")))?;
            let value = words.next().ok_or_else(|| format!("{word} lacks its value"))?;
            values.insert(name.to_owned(), value);
        }
        Ok(Self { values })
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub fn required(&self, name: &str) -> Result<&str, String> {
        self.text(name).ok_or_else(|| format!("--{name} is missing"))
    }

    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        self.text(name)
            .map(|text| text.parse().map_err(|_| format!("--{name} {text} is no number")))
            .transpose()
    }

    pub fn required_number(&self, name: &str) -> Result<u64, String> {
        self.number(name)?.ok_or_else(|| format!("--{name} is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, String> {
        Arguments::parse(words.iter().map(|word| (*word).to_owned()), &["size", "store"])
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let arguments = parse(&["--size", "7"]);
        assert_eq!(
            arguments.as_ref().ok().and_then(|found| found.number("size").ok()),
            Some(Some(7))
        );
        assert!(arguments.is_ok_and(|found| found.required("store").is_err()));
        assert!(parse(&["--other", "1"]).is_err());
        assert!(parse(&["--size"]).is_err());
        assert!(parse(&["--size", "x"]).is_ok_and(|found| found.number("size").is_err()));
    }
}
