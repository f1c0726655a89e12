//! The shapes of secrets, as data: one row per kind and shape, to be compared with the makers' documentation.
//!
//! Promises: a row says all there is to know about a shape that is "a public literal, then so many characters of an
//! alphabet". Shapes that need more (JWT, key blocks, names with values) have their own files; their kinds stand here
//! too. Refuses to know how text is searched.
//!
//! Source letters: G gitleaks' rules, K Kingfisher's rules, O OpenLegion's list, F seen in the field, U own format.

use super::alphabet::Alphabet;

/// What must stand around a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Anything: the literal says enough.
    Any,
    /// No letter, digit or `_` before the literal: it is short, or ends many a word.
    Left,
    /// As `Left`, and the tail is not longer than it must be.
    Both,
    /// As `Left`, and the literal is an ordinary word that stays.
    Keep,
}

/// What else the tail must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing.
    None,
    /// A digit or an upper-case letter among its first [`PROOF_WITHIN`] characters.
    DigitOrUpper,
    /// A digit among its first [`PROOF_WITHIN`] characters.
    Digit,
    /// A character of no UUID among its first [`PROOF_WITHIN`].
    NotHex,
}

/// Where a [`Proof`] must be, characters of the tail. Bounds what is held back for one.
pub(crate) const PROOF_WITHIN: usize = 64;

impl Proof {
    /// Whether a character is one.
    pub(crate) const fn is(self, b: u8) -> bool {
        match self {
            Self::None => true,
            Self::DigitOrUpper => b.is_ascii_digit() || b.is_ascii_uppercase(),
            Self::Digit => b.is_ascii_digit(),
            Self::NotHex => !b.is_ascii_hexdigit() && b != b'-',
        }
    }
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
use Edge::{Any, Both, Keep, Left};

/// All shapes of the form "literal, then a tail".
pub(crate) const ROWS: &[Row] = &[
    row(1, "musegate", &["mgt_"], 43, A::Alnum, Any, "U: 43 of secret and 6 of checksum"),
    row(3, "anthropic", &["sk-ant-"], 20, A::UrlSafe, Any, "G, K: 93 and AA after api03-, admin01-; F: oat01-"),
    row(4, "openai", &["sk-proj-", "sk-svcacct-", "sk-admin-"], 40, A::UrlSafe, Any, "G: 58 or 74, T3BlbkFJ, again"),
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
    row(13, "google", &["AIza"], 35, A::UrlSafe, Any, "G"),
    row(14, "google", &["ya29."], 20, A::UrlSafe, Any, "K"),
    row(15, "google", &["GOCSPX-"], 28, A::UrlSafe, Any, "K"),
    row(16, "github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], 36, A::Alnum, Any, "G"),
    row(17, "github", &["github_pat_"], 82, A::Word, Any, "G"),
    row(18, "gitlab", &["glpat-", "gldt-", "glrt-", "glft-", "glcbt-", "glimt-"], 20, A::Dotted, Any, "G: or longer"),
    row(18, "gitlab", &["glsoat-", "glffct-", "gloas-", "glagent-", "GR1348941"], 20, A::Dotted, Any, "G"),
    row(18, "gitlab", &["glptt-"], 40, A::Hex, Any, "G"),
    row(19, "aws", &["AKIA", "ASIA", "ABIA", "ACCA"], 16, A::Upper, Any, "G: A-Z2-7; digits 0 1 8 9 taken too"),
    row(19, "aws", &["A3T"], 16, A::Upper, Left, "G: one more character, then 15 or 16"),
    row(21, "aws", &["ABSK"], 109, A::Base64, Any, "G"),
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
    Row {
        proof: Proof::Digit, // "Basic internationalization" is prose; after `Authorization:` no digit is needed
        ..row(
            45,
            "authorization",
            &["Bearer ", "bearer ", "BEARER ", "Basic ", "basic "],
            16,
            A::Credential,
            Keep,
            "G, O",
        )
    },
    Row { proof: Proof::Digit, ..row(45, "authorization", &["Token ", "token "], 16, A::Credential, Keep, "G, O") },
];

/// Names whose value is a secret when it looks random (rule 47; rule 20 for those of AWS): what they end with, in lower
/// case and without `_`, `-` and `.`.
pub(crate) const NAMES: &[&str] = &[
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "passwrd",
    "passphrase",
    "pwd",
    "pass",
    "credential",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "secretkeybase",
];

/// Headers whose value is a credential (rule 45), written as [`NAMES`].
pub(crate) const CREDENTIALS: &[&str] = &["authorization", "proxyauthorization"];

/// Their schemes.
pub(crate) const SCHEMES: &[&str] = &["bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256"];

/// Headers whose whole line is a secret (rule 45).
pub(crate) const COOKIES: &[&str] = &["cookie", "setcookie"];

/// Parameters of a URL whose value is a secret (rule 48), after `?`, `&`, `;` or `#`, written as [`NAMES`].
pub(crate) const PARAMETERS: &[&str] = &[
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "sig",
    "signature",
    "xamzsignature",
    "xamzsecuritytoken",
    "xgoogsignature",
    "code",
    "password",
    "secret",
    "clientsecret",
    "apikey",
];

/// Indexes of the kinds that no row names.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    /// Rule 2.
    pub(crate) own: usize,
    /// Rule 20.
    pub(crate) aws_secret: usize,
    /// Rule 22.
    pub(crate) azure: usize,
    /// Rule 34.
    pub(crate) telegram: usize,
    /// Rule 42.
    pub(crate) openshift: usize,
    /// Rule 45.
    pub(crate) authorization: usize,
    /// Rule 45.
    pub(crate) cookie: usize,
    /// Rule 46.
    pub(crate) userinfo: usize,
    /// Rule 47.
    pub(crate) named: usize,
    /// Rule 48.
    pub(crate) parameter: usize,
}

impl Kinds {
    /// `number` numbers a kind.
    pub(crate) fn new(mut number: impl FnMut(&str) -> usize) -> Self {
        Self {
            own: number("own-secret"),
            aws_secret: number("aws"),
            azure: number("azure-client-secret"),
            telegram: number("telegram"),
            openshift: number("openshift"),
            authorization: number("authorization"),
            cookie: number("cookie"),
            userinfo: number("url-userinfo"),
            named: number("named-value"),
            parameter: number("url-parameter"),
        }
    }
}
