//! Random values as clause 4.3.2 of the specification defines them, written straight into byte buffers.

use super::options::Text;
use dyno_core::rng::Rng;

pub const ITEMS: i32 = 100_000;
pub const CUSTOMERS: i32 = 3000;
pub const DISTRICTS: i32 = 10;

/// The driver's random numbers in the specification's terms.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
}

/// An odd multiplier, so that different short paths give different streams.
const PATH_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// A stream of its own for each path below a seed, e.g. load, set, warehouse, district.
    pub fn new(seed: u64, path: &[u64]) -> Random {
        let stream = path
            .iter()
            .fold(0u64, |stream, part| (stream ^ (part + 1)).wrapping_mul(PATH_MULTIPLIER));
        Random {
            rng: Rng::new(seed, stream),
        }
    }

    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Uniform from `low` to `high`, both included.
    pub fn range(&mut self, low: i32, high: i32) -> i32 {
        self.rng.between(i64::from(low), i64::from(high)) as i32
    }

    /// True in `share` of 100 cases.
    pub fn percent(&mut self, share: i32) -> bool {
        self.range(1, 100) <= share
    }

    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.range(0, last as i32) as usize);
        }
    }
}

/// The constants C of NURand (clause 2.1.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    pub last_name: i32,
    pub customer: i32,
    pub item: i32,
}

/// C of the last names in the loaded customers. It does not depend on the seed, so that a run with any seed knows it.
pub const LAST_NAME_LOAD: i32 = 157;

impl Constants {
    /// Constants for a run. That of the last names must differ from the load's by 65 to 119, but not by 96 or 112.
    pub fn for_run(seed: u64) -> Constants {
        let mut random = Random::new(seed, &[u64::from(b'C')]);
        let last_name = loop {
            let candidate = random.range(0, 255);
            if is_valid_delta(candidate) {
                break candidate;
            }
        };
        Constants {
            last_name,
            customer: random.range(0, 1023),
            item: random.range(0, 8191),
        }
    }
}

fn is_valid_delta(last_name_run: i32) -> bool {
    let delta = (last_name_run - LAST_NAME_LOAD).abs();
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// The non-uniform distribution NURand(A, x, y) of clause 2.1.6.
pub fn nurand(random: &mut Random, a: i32, c: i32, low: i32, high: i32) -> i32 {
    ((random.range(0, a) | random.range(low, high)) + c) % (high - low + 1) + low
}

pub fn customer_id(random: &mut Random, constants: &Constants) -> i32 {
    nurand(random, 1023, constants.customer, 1, CUSTOMERS)
}

pub fn item_id(random: &mut Random, constants: &Constants) -> i32 {
    nurand(random, 8191, constants.item, 1, ITEMS)
}

/// Number of a last name, 0 to 999.
pub fn last_name_number(random: &mut Random, c: i32) -> i32 {
    nurand(random, 255, c, 0, 999)
}

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// The last name of a number from 0 to 999: a syllable for each digit (clause 4.3.2.3).
pub fn last_name(number: i32) -> [&'static str; 3] {
    let digit = |divisor: i32| SYLLABLES[(number / divisor % 10) as usize];
    [digit(100), digit(10), digit(1)]
}

pub fn put_integer(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[start..]);
}

/// Hundredths as a decimal number: 1234 is written `12.34`.
pub fn put_hundredths(out: &mut Vec<u8>, hundredths: i64) {
    if hundredths < 0 {
        out.push(b'-');
    }
    let magnitude = hundredths.unsigned_abs();
    put_integer(out, (magnitude / 100) as i64);
    out.extend_from_slice(&[b'.', b'0' + (magnitude / 10 % 10) as u8, b'0' + (magnitude % 10) as u8]);
}

/// 64 characters, so that six bits choose one. None of them is special in a bulk load.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";

/// Words of the kind that TPC-H's text grammar joins into sentences.
const WORDS: [&str; 48] = [
    "accounts",
    "asymptotes",
    "attainments",
    "braids",
    "courts",
    "deposits",
    "dependencies",
    "dolphins",
    "dugouts",
    "epitaphs",
    "escapades",
    "excuses",
    "foxes",
    "frays",
    "gifts",
    "grouches",
    "hockey players",
    "ideas",
    "instructions",
    "multipliers",
    "packages",
    "pearls",
    "pinto beans",
    "platelets",
    "requests",
    "sauternes",
    "sentiments",
    "theodolites",
    "warhorses",
    "waters",
    "affix",
    "boost",
    "cajole",
    "doze",
    "integrate",
    "nag",
    "wake",
    "blithely",
    "carefully",
    "furiously",
    "quickly",
    "slyly",
    "above the",
    "across the",
    "bold",
    "express",
    "pending",
    "regular",
];

/// An a-string of clause 4.3.2.2 (or words, which compress) of a given length.
pub fn put_text_exact(out: &mut Vec<u8>, random: &mut Random, text: Text, length: usize) {
    let end = out.len() + length;
    match text {
        Text::Random => {
            while out.len() < end {
                let mut bits = random.bits();
                let characters = [0u8; 10].map(|_| {
                    let character = ALPHABET[(bits & 63) as usize];
                    bits >>= 6;
                    character
                });
                out.extend_from_slice(&characters[..(end - out.len()).min(characters.len())]);
            }
        }
        Text::Compressible => {
            while out.len() < end {
                out.extend_from_slice(WORDS[random.range(0, WORDS.len() as i32 - 1) as usize].as_bytes());
                out.push(b' ');
            }
            out.truncate(end);
        }
    }
}

pub fn put_text(out: &mut Vec<u8>, random: &mut Random, text: Text, low: i32, high: i32) {
    let length = random.range(low, high) as usize;
    put_text_exact(out, random, text, length);
}

/// Text of 26 to 50 characters; one in ten contains the word ORIGINAL somewhere (clause 4.3.3.1).
pub fn put_data(out: &mut Vec<u8>, random: &mut Random, text: Text) {
    const ORIGINAL: &[u8] = b"ORIGINAL";
    let start = out.len();
    put_text(out, random, text, 26, 50);
    if random.percent(10) {
        let at = start + random.range(0, (out.len() - start - ORIGINAL.len()) as i32) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// An n-string of 16 digits.
pub fn put_phone(out: &mut Vec<u8>, random: &mut Random) {
    random.rng.digits(b"################", out);
}

/// Four digits and 11111 (clause 4.3.2.7).
pub fn put_zip(out: &mut Vec<u8>, random: &mut Random) {
    random.rng.digits(b"####11111", out);
}

pub fn put_state(out: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..2 {
        out.push(b'A' + random.range(0, 25) as u8);
    }
}

pub fn put_last_name(out: &mut Vec<u8>, number: i32) {
    for syllable in last_name(number) {
        out.extend_from_slice(syllable.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nurand_stays_in_range_and_is_not_uniform() {
        let mut random = Random::new(1, &[]);
        let mut counts = vec![0u32; ITEMS as usize + 1];
        for _ in 0..1_000_000 {
            counts[item_id(
                &mut random,
                &Constants {
                    last_name: 0,
                    customer: 0,
                    item: 77,
                },
            ) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let hottest = counts.iter().max().copied().unwrap_or(0);
        assert!(
            hottest > 100,
            "uniform would give about 10, the hottest item came {hottest} times"
        );
        for _ in 0..100_000 {
            let id = customer_id(
                &mut random,
                &Constants {
                    last_name: 0,
                    customer: 1023,
                    item: 0,
                },
            );
            assert!((1..=CUSTOMERS).contains(&id));
            assert!((0..=999).contains(&last_name_number(&mut random, 255)));
        }
    }

    #[test]
    fn uniform_range_reaches_both_ends() {
        let mut random = Random::new(7, &[]);
        let mut seen = [0; 3];
        for _ in 0..300 {
            seen[(random.range(-1, 1) + 1) as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }

    #[test]
    fn run_constants_keep_the_valid_distance_for_any_seed() {
        for seed in 0..2000 {
            let constants = Constants::for_run(seed);
            assert!(is_valid_delta(constants.last_name) && (0..=255).contains(&constants.last_name));
            assert!((0..=1023).contains(&constants.customer) && (0..=8191).contains(&constants.item));
        }
        assert!(!is_valid_delta(LAST_NAME_LOAD - 96) && !is_valid_delta(LAST_NAME_LOAD - 112));
        assert!(!is_valid_delta(LAST_NAME_LOAD) && is_valid_delta(LAST_NAME_LOAD + 65));
    }

    #[test]
    fn last_names_are_the_specifications_syllables() {
        let cases = [
            (0, "BARBARBAR"),
            (371, "PRICALLYOUGHT"),
            (40, "BARPRESBAR"),
            (999, "EINGEINGEING"),
        ];
        for (number, expected) in cases {
            assert_eq!(last_name(number).concat(), expected);
        }
    }

    #[test]
    fn numbers_are_written_like_the_standard_library_does() {
        for value in [0, 7, -7, 10, 12_345, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_integer(&mut out, value);
            assert_eq!(String::from_utf8_lossy(&out), value.to_string());
        }
        for (hundredths, expected) in [(0, "0.00"), (5, "0.05"), (-1000, "-10.00"), (999_999, "9999.99")] {
            let mut out = Vec::new();
            put_hundredths(&mut out, hundredths);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }

    #[test]
    fn text_has_the_asked_length_and_nothing_that_a_bulk_load_would_read_as_markup() {
        let mut random = Random::new(3, &[]);
        for text in [Text::Random, Text::Compressible] {
            for length in [1, 9, 10, 11, 24, 500] {
                let mut out = b"x".to_vec();
                put_text_exact(&mut out, &mut random, text, length);
                assert_eq!(out.len(), length + 1);
                assert!(!out.iter().any(|byte| matches!(byte, b'\t' | b'\n' | b'\\')));
            }
        }
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let mut random = Random::new(3, &[]);
        let mut original = 0;
        for _ in 0..10_000 {
            let mut out = Vec::new();
            put_data(&mut out, &mut random, Text::Random);
            assert!((26..=50).contains(&out.len()));
            original += i32::from(String::from_utf8_lossy(&out).contains("ORIGINAL"));
        }
        assert!((900..1100).contains(&original), "{original} of 10000");
    }

    #[test]
    fn streams_depend_on_seed_and_path() {
        let first = |seed, path: &[u64]| Random::new(seed, path).bits();
        assert_eq!(first(1, &[2, 3]), first(1, &[2, 3]));
        assert_ne!(first(1, &[2, 3]), first(1, &[3, 2]));
        assert_ne!(first(1, &[2, 3]), first(2, &[2, 3]));
        assert_ne!(first(1, &[]), first(1, &[0]));
    }
}
