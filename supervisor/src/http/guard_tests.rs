use super::*;
use hyper::header::HeaderValue;

fn guard() -> Guard {
    let urls = [PublicUrl::parse("https://Agent.example:8443/muse").unwrap()];
    let origins = [OriginName::parse("https://app.example").unwrap()];
    Guard::new(&["127.0.0.1".parse().unwrap()], &urls, &[HostName::parse("proxy.internal").unwrap()], &origins)
}

fn check(uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    guard().check(&uri.parse().unwrap(), &map)
}

#[test]
fn only_our_names_are_hosts() {
    for ours in [
        "127.0.0.1",
        "127.0.0.1:8181",
        "localhost:1",
        "LOCALHOST",
        "[::1]:9",
        "agent.example",
        "agent.example:443",
        "AGENT.EXAMPLE:8443",
        "proxy.internal",
    ] {
        assert_eq!(check("/", &[("host", ours)]), Ok(()), "{ours}");
    }
    for foreign in [
        "evil.example",
        "localhost.evil.example",
        "evil.example:8181",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "",
        ":8181",
        "localhost:8181:9",
        "localhost@evil.example",
        "user@localhost",
        "localhost:x",
        "localhost:65536",
        "localhost:+80",
        "[::1",
        "0.0.0.0:8181",
    ] {
        assert_eq!(check("/", &[("host", foreign)]), Err(Refusal::ForeignHost), "{foreign}");
    }
}

#[test]
fn any_port_will_do_behind_one_of_our_names_since_ports_are_forwarded() {
    for port in ["", ":", ":80", ":8182", ":65535"] {
        assert_eq!(check("/", &[("host", &format!("localhost{port}"))]), Ok(()), "{port}");
    }
}

#[test]
fn one_host_is_needed_and_a_name_in_the_request_line_counts_as_well() {
    assert!(matches!(check("/", &[]), Err(Refusal::BadRequest(_))));
    assert!(matches!(check("/", &[("host", "localhost"), ("host", "localhost")]), Err(Refusal::BadRequest(_))));
    assert_eq!(check("http://localhost/", &[]), Ok(()), "HTTP/2");
    assert_eq!(check("http://evil.example/", &[("host", "localhost")]), Err(Refusal::ForeignHost));
    assert_eq!(check("http://localhost/", &[("host", "evil.example")]), Err(Refusal::ForeignHost));
}

#[test]
fn a_web_page_may_call_only_from_an_origin_that_is_listed() {
    let from = |origin: &str| check("/", &[("host", "localhost"), ("origin", origin)]);
    assert_eq!(from("https://app.example"), Ok(()));
    for foreign in
        ["https://evil.example", "null", "http://app.example", "https://app.example:8443", "http://localhost:8181"]
    {
        assert_eq!(from(foreign), Err(Refusal::ForeignHost), "{foreign}");
    }
    let fetched = |site: &str| check("/", &[("host", "localhost"), ("sec-fetch-site", site)]);
    assert_eq!(fetched("cross-site"), Err(Refusal::ForeignHost));
    assert_eq!(fetched("same-origin"), Ok(()));
}

#[test]
fn a_token_in_the_url_is_refused_and_not_repeated() {
    for uri in [
        "/?token=abc",
        "/a2a?x=1&access_token=abc",
        "/?API_KEY=1",
        "/tasks?q=mgt_abc",
        "/mgt_abc",
        "/?authorization=Bearer%20x",
        "/?token",
    ] {
        match check(uri, &[("host", "localhost")]) {
            Err(Refusal::BadRequest(what)) => assert!(!what.contains("abc"), "{what}"),
            other => panic!("{uri}: {other:?}"),
        }
    }
    assert_eq!(check("/tasks?pageToken=abc&historyLength=2", &[("host", "localhost")]), Ok(()));
}

#[test]
fn a_public_url_is_recognised_by_what_a_client_sends_as_host() {
    let url = PublicUrl::parse("https://agent.example:443/muse/").unwrap();
    assert_eq!(url.as_str(), "https://agent.example:443/muse");
    assert!(url.matches("agent.example") && !url.matches("agent.example:8443"));
    let url = PublicUrl::parse("http://[::1]:8181").unwrap();
    assert!(url.matches("[::1]:8181") && !url.matches("[::1]"));
}
