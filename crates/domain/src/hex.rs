/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let pair = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(pair).map(char::from).collect()
}

/// Hexadecimal digits as bytes; none if they are none.
pub fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        assert_eq!(hex(&[0, 0x0f, 0xff]), "000fff");
        assert_eq!(unhex(b"000fFF"), Some(vec![0, 0x0f, 0xff]));
        for wrong in [&b"0"[..], b"0g", "é".as_bytes()] {
            assert_eq!(unhex(wrong), None);
        }
    }
}
