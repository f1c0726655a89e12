//! The shapes of secrets, as data: one row per kind and shape, to be compared with the makers' documentation.
//!
//! Promises: a row says all there is to know about a shape that is "a public literal, then so many characters of an
//! alphabet". Shapes that need more (JWT, key blocks, names with values) have their own files; their kinds stand here
//! too. Refuses to know how text is searched.
//!
//! Source letters: G gitleaks' rules, K Kingfisher's rules, O OpenLegion's list, F seen in the field, U own format.

/// Characters of a tail. Each is one bit of [`classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Alphabet {
    /// Letters and digits.
    Alnum = 0,
    /// Letters, digits, `_`.
    Word = 1,
    /// Letters, digits, `_`, `-`.
    UrlSafe = 2,
    /// `UrlSafe` and `.` between two of them.
    Dotted = 3,
    /// `UrlSafe` and `=`.
    UrlSafePadded = 4,
    /// `UrlSafe`, `=`, and `.` between two of them.
    DottedPadded = 5,
    /// Hexadecimal digits.
    Hex = 6,
    /// Hexadecimal digits and `-`.
    HexDash = 7,
    /// Letters, digits, `+`, `/`, `=`, `_`.
    Base64 = 8,
    /// Letters, digits, `-`.
    AlnumDash = 9,
    /// Letters, digits, `/`.
    Path = 10,
    /// Upper-case letters and digits.
    Upper = 11,
    /// `Dotted` and `~`.
    Azure = 12,
    /// What may stand in a header's credential: `UrlSafe`, `+`, `/`, `=`, `~`, and `.`.
    Credential = 13,
}

/// Alphabets with a number of their own; the bits above are the operator's.
pub(crate) const ALPHABETS: u32 = 14;

impl Alphabet {
    /// Its bit.
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u8
    }

    pub(crate) const fn has(self, b: u8) -> bool {
        let alnum = b.is_ascii_alphanumeric();
        let url_safe = alnum || b == b'_' || b == b'-';
        match self {
            Self::Alnum => alnum,
            Self::Word => alnum || b == b'_',
            Self::UrlSafe => url_safe,
            Self::Dotted => url_safe || b == b'.',
            Self::UrlSafePadded => url_safe || b == b'=',
            Self::DottedPadded => url_safe || b == b'=' || b == b'.',
            Self::Hex => b.is_ascii_hexdigit(),
            Self::HexDash => b.is_ascii_hexdigit() || b == b'-',
            Self::Base64 => alnum || matches!(b, b'+' | b'/' | b'=' | b'_'),
            Self::AlnumDash => alnum || b == b'-',
            Self::Path => alnum || b == b'/',
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Azure => url_safe || b == b'.' || b == b'~',
            Self::Credential => url_safe || matches!(b, b'+' | b'/' | b'=' | b'~' | b'.'),
        }
    }
}

/// What must stand around a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Anything: the literal says enough.
    Any,
    /// No letter, digit or `_` before the literal: it is short, or ends many a word.
    Left,
    /// As `Left`, and the tail is not longer than it must be.
    Both,
}

/// What else the tail must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing.
    None,
    /// A digit or an upper-case letter among its first 64 characters.
    DigitOrUpper,
}

/// One shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Its number in the design's list of rules.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader, and for the test that no number is missing"))]
    pub(crate) number: u8,
    /// Kind, as in the marker.
    pub(crate) kind: &'static str,
    /// What it begins with, one of these.
    pub(crate) literals: &'static [&'static str],
    /// How many characters follow at least. More are redacted with them, as long as the alphabet lasts.
    pub(crate) tail: usize,
    /// Of which alphabet.
    pub(crate) alphabet: Alphabet,
    /// What must stand around it.
    pub(crate) edge: Edge,
    /// What else it must have.
    pub(crate) proof: Proof,
    /// Where the shape is from.
    #[expect(dead_code, reason = "for the reader")]
    pub(crate) source: &'static str,
}

const fn row(
    number: u8,
    kind: &'static str,
    literals: &'static [&'static str],
    tail: usize,
    alphabet: Alphabet,
    edge: Edge,
    source: &'static str,
) -> Row {
    Row { number, kind, literals, tail, alphabet, edge, proof: Proof::None, source }
}

use Alphabet as A;
use Edge::{Any, Both, Left};

/// All shapes of the form "literal, then a tail".
pub(crate) const ROWS: &[Row] = &[
    row(1, "musegate", &["mgt_"], 43, A::Alnum, Any, "U: 43 of secret and 6 of checksum"),
    row(3, "anthropic", &["sk-ant-"], 20, A::UrlSafe, Any, "G, K: 93 and AA after api03-, admin01-; F: oat01-"),
    row(4, "openai", &["sk-proj-", "sk-svcacct-", "sk-admin-"], 40, A::UrlSafe, Any, "G: twice 58 or 74 around T3BlbkFJ"),
    Row {
        proof: Proof::DigitOrUpper, // names of style classes such as sk-loading-indicator-wrapper have neither
        ..row(5, "sk-key", &["sk-"], 20, A::UrlSafe, Left, "G, K: OpenAI 48; others of the family from 20")
    },
    row(6, "openrouter", &["sk-or-v1-"], 64, A::Hex, Any, "F"),
    row(7, "groq", &["gsk_"], 52, A::Alnum, Any, "K"),
    row(8, "xai", &["xai-"], 80, A::Word, Any, "K"),
    row(9, "perplexity", &["pplx-"], 48, A::Alnum, Any, "G"),
    row(10, "hugging-face", &["hf_"], 34, A::Alnum, Left, "G, K"),
    row(10, "hugging-face", &["api_org_"], 34, A::Alnum, Any, "G, K"),
    row(11, "replicate", &["r8_"], 37, A::UrlSafe, Left, "K"),
    row(12, "elevenlabs", &["sk_"], 48, A::Hex, Left, "K"),
    row(13, "google-api-key", &["AIza"], 35, A::UrlSafe, Any, "G"),
    row(14, "google-oauth", &["ya29."], 20, A::UrlSafe, Any, "K"),
    row(15, "google-client-secret", &["GOCSPX-"], 28, A::UrlSafe, Any, "K"),
    row(16, "github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], 36, A::Alnum, Any, "G"),
    row(17, "github", &["github_pat_"], 82, A::Word, Any, "G"),
    row(18, "gitlab", &["glpat-", "gldt-", "glrt-", "glft-", "glcbt-", "glimt-"], 20, A::Dotted, Any, "G: routable ones are longer, with dots"),
    row(18, "gitlab", &["glsoat-", "glffct-", "gloas-", "glagent-", "GR1348941"], 20, A::Dotted, Any, "G"),
    row(18, "gitlab", &["glptt-"], 40, A::Hex, Any, "G"),
    row(19, "aws-key-id", &["AKIA", "ASIA", "ABIA", "ACCA"], 16, A::Upper, Any, "G: A-Z2-7; digits 0 1 8 9 taken too"),
    row(19, "aws-key-id", &["A3T"], 16, A::Upper, Left, "G: one more character, then 15 or 16"),
    row(21, "aws-bedrock", &["ABSK"], 109, A::Base64, Any, "G"),
    row(23, "azure-storage", &["AccountKey="], 86, A::Base64, Any, "K: and =="),
    row(24, "slack", &["xoxb-", "xoxp-", "xoxe-", "xoxa-", "xoxr-", "xoxs-", "xapp-"], 24, A::AlnumDash, Any, "G"),
    row(24, "slack", &["hooks.slack.com/services/"], 40, A::Path, Any, "G: 43 to 56"),
    row(25, "stripe", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], 10, A::Alnum, Any, "G"),
    row(25, "stripe", &["whsec_"], 32, A::Base64, Any, "F"),
    row(26, "twilio", &["SK"], 32, A::Hex, Both, "G"),
    row(27, "sendgrid", &["SG."], 66, A::DottedPadded, Left, "G: 22, a dot, 43"),
    row(28, "npm", &["npm_"], 36, A::Alnum, Any, "G"),
    row(29, "pypi", &["pypi-AgEIcHlwaS5vcmc"], 50, A::UrlSafe, Any, "G"),
    row(30, "rubygems", &["rubygems_"], 48, A::Hex, Any, "G"),
    row(31, "digitalocean", &["dop_v1_", "doo_v1_", "dor_v1_"], 64, A::Hex, Any, "G"),
    row(32, "vault", &["hvs."], 90, A::UrlSafe, Any, "G: 90 to 120"),
    row(32, "vault", &["hvb."], 138, A::UrlSafe, Any, "G: 138 to 300"),
    row(32, "terraform", &[".atlasv1."], 60, A::UrlSafePadded, Any, "G: 14 characters before it stay"),
    row(33, "databricks", &["dapi"], 32, A::Hex, Any, "G: a dash and a digit may follow and stay"),
    row(35, "atlassian", &["ATATT3"], 186, A::UrlSafePadded, Any, "G"),
    row(36, "linear", &["lin_api_"], 40, A::Alnum, Any, "G"),
    row(36, "notion", &["ntn_"], 46, A::Alnum, Any, "G: 11 digits and 35"),
    row(37, "grafana", &["glsa_"], 41, A::Word, Any, "G: 32, _, 8 hexadecimal"),
    row(37, "grafana", &["glc_"], 32, A::Base64, Any, "G: 32 to 400"),
    row(37, "sentry", &["sntryu_"], 64, A::Hex, Any, "G"),
    row(37, "sentry", &["sntrys_"], 64, A::Base64, Any, "G: base64 of JSON, _, 43"),
    row(38, "tailscale", &["tskey-"], 15, A::UrlSafe, Any, "K: kind, id, 8 or more"),
    row(39, "postman", &["PMAK-"], 59, A::HexDash, Any, "G: 24, dash, 34"),
    row(39, "pulumi", &["pul-"], 40, A::Hex, Any, "G"),
    row(39, "doppler", &["dp.pt."], 43, A::Alnum, Any, "G"),
    row(40, "supabase", &["sbp_"], 40, A::Hex, Any, "K"),
    row(40, "shopify", &["shpat_", "shpca_", "shppa_", "shpss_"], 32, A::Hex, Any, "G"),
    row(40, "heroku", &["HRKU-AA"], 58, A::UrlSafe, Any, "G"),
    row(40, "planetscale", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], 32, A::DottedPadded, Any, "G: 32 to 64"),
    row(41, "1password", &["ops_eyJ"], 250, A::Base64, Any, "G"),
    row(41, "age", &["AGE-SECRET-KEY-1"], 58, A::Upper, Any, "G: bech32"),
    row(42, "artifactory", &["AKCp"], 69, A::Alnum, Any, "G"),
    row(42, "sourcegraph", &["sgp_"], 40, A::Word, Any, "G: hexadecimal, an instance may stand before"),
];
