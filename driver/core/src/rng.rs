//! A small, fast, seeded random number generator: xoshiro256++ (Blackman and Vigna, 2019, public domain algorithm),
//! seeded by splitmix64. The same (seed, stream) gives the same numbers on every machine and in every version: results
//! are compared across years, so the generator is ours and does not follow a library.

/// One stream of random numbers. A copy goes on with the same numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    /// Stream `stream` of `seed`: connection *n* draws from (seed, n).
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = seed;
        // The stream passes through the mixer on its own first: neighbours must not share parts of their state.
        let mut salt = stream ^ 0x6A09_E667_F3BC_C908;
        mixed ^= splitmix64(&mut salt);
        Rng {
            state: std::array::from_fn(|_| splitmix64(&mut mixed)),
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high], both ends included. The bias of the multiplication is below 2^-32 for ranges below
    /// 2^32, which no histogram of ours can see.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high);
        let span = (high - low) as u64 as u128 + 1;
        low + ((self.next_u64() as u128 * span) >> 64) as i64
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        // 1 - unit() is in (0, 1]: the logarithm is finite.
        -(1.0 - self.unit()).ln()
    }

    /// Replaces each `#` of `template` by a random digit and appends the result.
    pub fn digits(&mut self, template: &[u8], out: &mut Vec<u8>) {
        let mut bits = 0u64;
        let mut left = 0;
        for &byte in template {
            if byte != b'#' {
                out.push(byte);
                continue;
            }
            if left == 0 {
                bits = self.next_u64();
                // Nine digits of a 64-bit fraction keep the bias below 1e-9.
                left = 9;
            }
            let wide = bits as u128 * 10;
            out.push(b'0' + (wide >> 64) as u8);
            bits = wide as u64;
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_stream_repeat() {
        let draw = |seed, stream| -> Vec<u64> {
            let mut rng = Rng::new(seed, stream);
            (0..5).map(|_| rng.next_u64()).collect()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2), draw(1, 3));
    }

    #[test]
    fn between_reaches_both_ends_evenly() {
        let mut rng = Rng::new(7, 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[(rng.between(-5, 4) + 5) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
    }

    #[test]
    fn digits_keep_the_template() {
        let mut rng = Rng::new(7, 0);
        let mut out = Vec::new();
        rng.digits(b"##-###", &mut out);
        assert_eq!(out.len(), 6);
        assert_eq!(out[2], b'-');
        assert!(out.iter().all(|b| b.is_ascii_digit() || *b == b'-'));
    }
}
