//! Contents that follow from their place: whoever knows client, number and part of a row knows what stands in it, so
//! that a row proves itself. `dbdyno.crash.payload` computes the same.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
/// Characters of one block.
pub const BLOCK: usize = 16;

/// The output function of splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Text of `blocks` times sixteen hexadecimal digits. It does not compress, so that a long one fills its pages.
pub fn payload(client: i64, seq: i64, part: i64, blocks: i64) -> String {
    let seed = mix(mix(mix(part as u64) ^ seq as u64) ^ client as u64);
    let mut text = String::with_capacity(blocks as usize * BLOCK);
    for block in 0..blocks as u64 {
        let word = mix(seed.wrapping_add(block.wrapping_mul(GAMMA)));
        for shift in (0..BLOCK).rev() {
            let digit = (word >> (shift * 4)) as u32 & 15;
            text.extend(char::from_digit(digit, 16));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_follow_from_their_place() {
        assert_eq!(payload(1, 2, 3, 2), payload(1, 2, 3, 3)[..32]);
        assert_ne!(payload(1, 2, 3, 1), payload(2, 1, 3, 1));
        // The same line stands in tests/unit/crash/test_crash_payload.py.
        assert_eq!(payload(1, 2, 3, 2), "c31ebcc69d88b474741fb0bf0d7db59e");
    }
}
