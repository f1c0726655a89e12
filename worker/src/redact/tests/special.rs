//! Secrets that are more than a literal and a tail.

use super::*;

fn alnum(dice: &mut Dice, len: usize) -> String {
    format!("7x{}", dice.text(len - 2, |b| b.is_ascii_alphanumeric()))
}

#[track_caller]
fn becomes(text: &str, want: &str) {
    assert_eq!(redact(&rules(), text), want, "{text}");
}

#[track_caller]
fn stays(text: &str) {
    becomes(text, text);
}

#[test]
fn a_known_value_is_found_in_every_form_at_every_place() {
    let secret = "Zq7-known/value+of\"ours\"";
    let rules = rules_with(&[secret, "another one"], &[]);
    let forms = super::super::exact::forms(&[Zeroizing::new(secret.to_owned())]).unwrap();
    assert!(forms.len() > 7);
    for form in &forms {
        let form = form.as_str();
        for text in [format!("a{form}b"), format!("ก{form}😀"), format!("{form}{form}"), format!("Zq7-{form}Zq7-know")]
        {
            let out = redact(&rules, &text);
            assert!(!out.contains(form), "{form} in {out}");
            assert_eq!(out, text.replace(form, "[redacted:own-secret]"));
        }
        stays(form.get(..form.len() - 1).filter(|part| !part.contains("value")).unwrap_or(""));
    }
    let near = "Zq7-known/value+of\"ourz\" anotherone";
    assert_eq!(redact(&rules, near), near);
}

#[test]
fn a_known_value_that_begins_another_does_not_hide_it() {
    let rules = rules_with(&["abcdefgh", "abcdefgh12345678"], &[]);
    assert_eq!(
        redact(&rules, "abcdefgh12345678 abcdefgh1234567 abcdefg"),
        "[redacted:own-secret] [redacted:own-secret]1234567 abcdefg"
    );
}

#[test]
fn a_known_value_of_a_known_shape_is_counted_as_known() {
    let mut dice = Dice::new(2);
    let key = format!("sk-{}-{}", "ant", alnum(&mut dice, 90));
    let rules = rules_with(&[&key], &[]);
    assert_eq!(redact(&rules, &format!("<{key}>")), "<[redacted:own-secret]>");
    assert_eq!(redact(&rules, &format!("<{key}tail>")), "<[redacted:own-secret]>");
}

#[test]
fn a_known_value_that_begins_before_a_waiting_credential_is_not_let_through() {
    let rules = rules_with(&["Basic own-secret"], &[]);
    assert_eq!(redact(&rules, "Authorization: Basic own-secret!"), "Authorization: [redacted:own-secret]!");
}

#[test]
fn many_known_values_are_found_without_vectors_too() {
    let secrets: Vec<String> = (0..60).map(|n| format!("{n:02}-secret-value-{n:02}")).collect();
    let all: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let rules = rules_with(&all, &[]);
    for secret in &all {
        assert_eq!(redact(&rules, &format!("a {secret} b")), "a [redacted:own-secret] b");
    }
}

#[test]
fn a_pattern_of_the_operator_is_a_row_like_any_other() {
    let rules = rules_with(&[], &["meta=LLM|[A-Za-z0-9|.]{24,}", "short=ab=[0-9]{8}"]);
    let mut dice = Dice::new(4);
    let key = alnum(&mut dice, 24);
    assert_eq!(redact(&rules, &format!("x LLM|{key}.")), "x [redacted:meta].");
    assert_eq!(redact(&rules, &format!("xLLM|{key}.")), "xLLM|[redacted:meta].");
    assert_eq!(redact(&rules, &format!("LLM|{} ", &key[1..])), format!("LLM|{} ", &key[1..]));
    assert_eq!(redact(&rules, "ab=12345678 ab=1234567"), "[redacted:short] ab=1234567");
}

#[test]
fn a_web_token_needs_three_parts() {
    let mut dice = Dice::new(6);
    let mut part = |len| dice.text(len, |b| Alphabet::UrlSafe.has(b));
    let (a, b, c) = (part(17), part(17), part(10));
    becomes(&format!("t eyJ{a}.eyJ{b}.{c}."), "t [redacted:jwt].");
    stays(&format!("eyJ{}.eyJ{b}.{c}", &a[1..]));
    stays(&format!("eyJ{a}.eyJ{}.{c}", &b[1..]));
    stays(&format!("eyJ{a}.eyJ{b}.{}", &c[1..]));
    stays(&format!("eyJ{a}.{b}.{c}"));
    stays(&format!("xeyJ{a}.eyJ{b}.{c}"));
}

#[test]
fn a_web_token_too_long_to_wait_for_is_covered() {
    let rules = rules();
    let mut dice = Dice::new(8);
    let mut part = |len| dice.text(len, |b| Alphabet::UrlSafe.has(b));
    let text = format!("eyJ{}.eyJ{}.{} after", part(400), part(20_000), part(43));
    let (whole, _) = rules.redact(&text);
    assert!(whole.starts_with("[redacted:jwt]") && whole.len() < 100, "{whole}");
    for size in [1, 7, 100, 5000] {
        assert_eq!(in_pieces(&rules, &text, (0..text.len()).step_by(size)).0, whole);
    }
}

#[test]
fn a_private_key_is_covered_from_begin_to_end() {
    let dash = "-".repeat(5);
    let mut dice = Dice::new(9);
    for label in ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let line = dice.text(64, |b| Alphabet::Base64.has(b));
        for body in [format!("\n{line}\n{line}\n"), format!("\\n{line}\\n"), format!(" {line} {line} "), String::new()]
        {
            let key = format!("{dash}BEGIN {label}{dash}{body}{dash}END {label}{dash}");
            becomes(&format!("key: {key}\nafter"), "key: [redacted:private-key]\nafter");
            becomes(&format!("\"{key}\" and"), "\"[redacted:private-key]\" and");
            becomes(&format!("{key}{key}!"), "[redacted:private-key][redacted:private-key]!");
        }
    }
    stays(&format!("{dash}BEGIN PUBLIC KEY{dash}\nMIIB\n{dash}END PUBLIC KEY{dash}"));
    stays(&format!("{}BEGIN PRIVATE KEY", &dash[1..]));
}

#[test]
fn a_private_key_without_an_end_is_covered_to_the_bound() {
    let rules = rules();
    let mut dice = Dice::new(10);
    let line = format!("{}\n", dice.text(64, |b| Alphabet::Base64.has(b)));
    let text = format!("{}BEGIN PRIVATE KEY-----\n{}", "-".repeat(5), line.repeat(400));
    let (whole, _) = rules.redact(&text);
    assert!(whole.starts_with("[redacted:private-key]"));
    assert_eq!(whole.len(), text.len() - "-----BEGIN PRIVATE KEY".len() - 16 * 1024 + "[redacted:private-key]".len());
    for size in [1, 63, 1000] {
        assert_eq!(in_pieces(&rules, &text, (0..text.len()).step_by(size)).0, whole);
    }
}

#[test]
fn a_text_that_mentions_a_key_block_keeps_its_rest() {
    let dash = "-".repeat(5);
    let prose = "and ends in a line that says the same with another word in it. More.";
    let out = redact(&rules(), &format!("It begins with `{dash}BEGIN PRIVATE KEY{dash}` {prose}"));
    assert!(
        out.starts_with("It begins with `[redacted:private-key]") && out.ends_with("with another word in it. More."),
        "{out}"
    );
    let thai = "แล้วตามด้วยข้อความอื่นที่ไม่ใช่กุญแจ";
    let out = redact(&rules(), &format!("{dash}BEGIN PRIVATE KEY{dash} {thai}"));
    assert!(out.ends_with("ข้อความอื่นที่ไม่ใช่กุญแจ"), "{out}");
}

#[test]
fn headers_lose_their_credential() {
    let mut dice = Dice::new(11);
    let key = alnum(&mut dice, 24);
    let letters = dice.text(16, |b| b.is_ascii_lowercase());
    for before in [
        "Authorization: Bearer ",
        "authorization: basic ",
        "Authorization: ",
        "\"Authorization\": \"Token ",
        "Proxy-Authorization: X ",
        "bearer ",
    ] {
        becomes(&format!("{before}{key}\nHost: x"), &format!("{before}[redacted:authorization]\nHost: x"));
    }
    becomes(&format!("Authorization: Basic {letters}"), "Authorization: Basic [redacted:authorization]");
    stays(&format!("Authorization: Bearer {}", &key[..15]));
    stays(&format!("Authorization: {letters}"));
    for (text, want) in [
        ("Cookie: sid=abc; theme=dark\nnext", "Cookie: [redacted:cookie]\nnext"),
        ("set-cookie: a=b", "set-cookie: [redacted:cookie]"),
        ("-H 'Cookie: sid=1' https://x", "-H 'Cookie: [redacted:cookie]' https://x"),
        ("{\"Cookie\": \"sid=1\", \"x\": 1}", "{\"Cookie\": \"[redacted:cookie]\", \"x\": 1}"),
        ("Cookie: sid only", "Cookie: sid only"),
        ("my-cookie: a=b", "my-cookie: a=b"),
    ] {
        becomes(text, want);
    }
}

#[test]
fn a_url_loses_user_and_password() {
    for (text, want) in [
        ("git clone https://me:pw@host/x", "git clone https://[redacted:url-userinfo]@host/x"),
        ("postgres://u:p@ss@db:5432/x", "postgres://[redacted:url-userinfo]@db:5432/x"),
        ("redis://:pw@h", "redis://[redacted:url-userinfo]@h"),
        ("amqp://ก:ข@h, and", "amqp://[redacted:url-userinfo]@h, and"),
        (
            "https://me@host/ https://host:80/@x:y@z https://me:@host ://a:b@c",
            "https://me@host/ https://host:80/@x:y@z https://me:@host ://a:b@c",
        ),
    ] {
        becomes(text, want);
    }
}

#[test]
fn a_url_loses_the_values_of_telling_parameters() {
    for name in ["token", "access_token", "sig", "X-Amz-Signature", "X-Goog-Signature", "password"] {
        becomes(
            &format!("https://x/?a=1&{name}=v%20&b=2 y"),
            &format!("https://x/?a=1&{name}=[redacted:url-parameter]&b=2 y"),
        );
        becomes(&format!("(x?{name}=v)."), &format!("(x?{name}=[redacted:url-parameter])."));
        stays(&format!("x?my{name}=v"));
        stays(&format!("x?{name}="));
    }
    becomes("/cb?code=abc123&x", "/cb?code=[redacted:url-parameter]&x");
    stays("/cb?code=abc12&x");
}

#[test]
fn a_telling_name_and_a_random_value() {
    let mut dice = Dice::new(12);
    let value = alnum(&mut dice, 20);
    for (before, after) in [
        ("api_key=", ""),
        ("API-KEY: ", "\n"),
        ("my.secret = '", "'"),
        ("\"password\": \"", "\","),
        ("{\\\"token\\\":\\\"", "\\\"}"),
        ("**Password:** `", "`"),
        ("export DB_PASSWD=", " && x"),
        ("client_credential := \"", "\""),
        ("secret => '", "'"),
        ("os.environ[\"API_TOKEN\"] = \"", "\""),
        ("SECRET_KEY_BASE=", ";"),
        ("passphrase:", ", y"),
        ("x-api-key: ", "."),
        ("passwords=", ""),
    ] {
        becomes(&format!("{before}{value}{after}"), &format!("{before}[redacted:named-value]{after}"));
    }
    stays(&format!("name={value}"));
    stays(&format!("token_type={value}"));
    stays(&format!("secret {value}"));
    stays("secret=aaaaaaaaaaaaaaaaaaaaaaaaa1");
    stays(&format!("secret={}", &value[..7]));
}

#[test]
fn a_named_value_longer_than_what_is_looked_at_is_covered_whole() {
    let rules = rules();
    let mut dice = Dice::new(13);
    let text = format!("secret=\"{}\" x", dice.text(5000, |b| b.is_ascii_alphanumeric()));
    assert_eq!(rules.redact(&text).0, "secret=\"[redacted:named-value]\" x");
    assert_eq!(in_pieces(&rules, &text, 0..text.len()).0, "secret=\"[redacted:named-value]\" x");
}

#[test]
fn cloud_secrets_that_only_their_surroundings_tell() {
    let mut dice = Dice::new(14);
    let aws = dice.text(40, |b| b.is_ascii_alphanumeric() || b == b'/' || b == b'+');
    becomes(&format!("aws_secret_access_key = {aws}\n"), "aws_secret_access_key = [redacted:aws]\n");
    becomes(&format!("awsSecretKey: '{aws}'"), "awsSecretKey: '[redacted:aws]'");
    stays(&format!("sha {aws}"));
    let azure = dice.text(31, |b| b.is_ascii_alphanumeric());
    becomes(&format!("aB18Q~{azure} x"), "aB18Q~[redacted:azure-client-secret] x");
    stays(&format!("aB1xQ~{azure}"));
    stays(&format!("aB18Q~{} ", &azure[1..]));
    let open = dice.text(43, |b| Alphabet::UrlSafe.has(b));
    becomes(&format!("sha256~{open}"), "sha256~[redacted:openshift]");
    stays(&format!("sha256~{}", &open[1..]));
    let bot = format!("AAz{}", dice.text(32, |b| Alphabet::UrlSafe.has(b)));
    becomes(&format!("bot 123456789:{bot} x"), "bot 123456789:[redacted:telegram] x");
    for digits in ["1234567", "12345678901", "a23456789"] {
        stays(&format!("{digits}:{bot}"));
    }
    stays(&format!("123456789:{}", &bot[1..]));
}
