use super::*;
use hyper::header::HeaderValue;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// A folder with a file of callers that the real functions made.
struct Place {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("callers.toml");
        Self { folder, file }
    }

    fn config(&self) -> Config {
        Config::defaults(self.folder.path())
    }

    fn add(&self, name: &str) -> edit::NewToken {
        edit::add(&self.file, &Label::new(name).unwrap(), None).unwrap()
    }

    fn append(&self, text: &str) {
        let old = std::fs::read_to_string(&self.file).unwrap();
        std::fs::write(&self.file, format!("{old}{text}")).unwrap();
    }

    fn admission(&self) -> Admission {
        Admission::new(&self.config()).unwrap()
    }
}

fn bearing(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}")).unwrap());
    headers
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_token_that_was_made_lets_its_caller_in_and_another_does_not() {
    let place = Place::new();
    let (one, two) = (place.add("hermes"), place.add("other"));
    let admission = place.admission();
    let admitted = admission.authenticate(&bearing(&one.clear), PEER).unwrap();
    assert_eq!((&*admitted.caller().name, admitted.token(), admitted.peer()), ("hermes", &one.id, PEER));
    assert_eq!(&*admission.authenticate(&bearing(&two.clear), PEER).unwrap().caller().name, "other");
    let stranger = token::generate().unwrap();
    assert_eq!(admission.authenticate(&bearing(&stranger), PEER).unwrap_err(), Refusal::Unauthenticated);
    assert!(admission.recognises(&bearing(&one.clear)) && !admission.recognises(&bearing(&stranger)));
}

#[test]
fn the_clear_token_is_nowhere_on_the_disk() {
    let place = Place::new();
    let token = place.add("hermes");
    for entry in std::fs::read_dir(place.folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(memchr::memmem::find(&bytes, &token.clear.as_bytes()[4..]).is_none());
    }
    assert!(std::fs::read_to_string(&place.file).unwrap().contains(&Digest::of(token.clear.as_bytes()).to_string()));
}

#[test]
fn a_token_made_elsewhere_lets_in_while_its_digest_is_kept() {
    let place = Place::new();
    place.add("hermes");
    let clear = "bench-token-0123456789abcdef";
    assert_eq!(place.admission().authenticate(&bearing(clear), PEER), Err(Refusal::Unauthenticated));
    let secret = zeroize::Zeroizing::new(clear.to_owned());
    edit::import(&place.file, &Label::new("other").unwrap(), secret, None).unwrap();
    let admission = place.admission();
    assert_eq!(&*admission.authenticate(&bearing(clear), PEER).unwrap().caller().name, "other");
    for wrong in ["bench-token-0123456789abcdeg", "bench-token-0123456789abcde", "wrong"] {
        assert_eq!(admission.authenticate(&bearing(wrong), PEER), Err(Refusal::Unauthenticated), "{wrong}");
    }
}

#[test]
fn only_one_authorization_of_the_bearer_scheme_is_taken() {
    let place = Place::new();
    let token = place.add("hermes");
    let admission = place.admission();
    let mut twice = bearing(&token.clear);
    twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
    assert_eq!(admission.authenticate(&twice, PEER).unwrap_err(), Refusal::Unauthenticated);
    for (value, ok) in [
        (format!("bearer {}", *token.clear), true),
        (format!("BEARER   {} ", *token.clear), true),
        (format!("Basic {}", *token.clear), false),
        (format!("Bearer{}", *token.clear), false),
        (format!("Bearer {} {}", *token.clear, *token.clear), false),
        ((*token.clear).clone(), false),
        ("Bearer ".to_owned(), false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::try_from(&value).unwrap());
        assert_eq!(admission.authenticate(&headers, PEER).is_ok(), ok, "{value}");
    }
}

#[test]
fn an_expired_token_is_as_wrong_as_any() {
    let place = Place::new();
    let token = edit::add(&place.file, &Label::new("hermes").unwrap(), Some(Duration::ZERO)).unwrap();
    assert_eq!(place.admission().authenticate(&bearing(&token.clear), PEER).unwrap_err(), Refusal::Unauthenticated);
}

#[test]
fn many_failures_are_held_off_but_a_right_token_from_the_same_address_passes() {
    let place = Place::new();
    let token = place.add("hermes");
    let mut config = place.config();
    config.callers.failed_logins_per_minute = 5;
    let admission = Admission::new(&config).unwrap();
    let wrong = bearing(&token::generate().unwrap());
    let told: Vec<bool> =
        (0..8).map(|_| admission.authenticate(&wrong, PEER) == Err(Refusal::Unauthenticated)).collect();
    assert_eq!(told, [true, true, true, true, true, false, false, false]);
    assert!(matches!(admission.authenticate(&wrong, PEER), Err(Refusal::TooManyRequests { .. })));
    assert!(admission.authenticate(&bearing(&token.clear), PEER).is_ok());
    assert_eq!(admission.authenticate(&HeaderMap::new(), PEER), Err(Refusal::Unauthenticated), "no guess, no penalty");
}

#[test]
fn over_its_rate_a_caller_is_told_when_to_come_back_and_another_is_not_held_up() {
    let place = Place::new();
    let (one, two) = (place.add("one"), place.add("two"));
    let text = std::fs::read_to_string(&place.file).unwrap();
    write_private(&place.file, &text.replace("[callers.one]\n", "[callers.one]\nrate_per_minute = 6\nburst = 2\n"));
    let admission = place.admission();
    let in_turn: Vec<_> = (0..3).map(|_| admission.authenticate(&bearing(&one.clear), PEER).is_ok()).collect();
    assert_eq!(in_turn, [true, true, false]);
    match admission.authenticate(&bearing(&one.clear), PEER) {
        Err(Refusal::TooManyRequests { retry }) => {
            assert!(retry > Duration::from_secs(9) && retry <= Duration::from_secs(10))
        }
        other => panic!("{other:?}"),
    }
    assert!(admission.authenticate(&bearing(&two.clear), PEER).is_ok());
}

#[test]
fn over_the_rate_of_all_nobody_is_charged() {
    let place = Place::new();
    let token = place.add("one");
    let mut config = place.config();
    config.callers.rate_per_minute = 3;
    let admission = Admission::new(&config).unwrap();
    let in_turn: Vec<_> = (0..5).map(|_| admission.authenticate(&bearing(&token.clear), PEER).is_ok()).collect();
    assert_eq!(in_turn, [true, true, true, false, false]);
    let inner = admission.inner();
    let spent = inner.buckets.values().next().unwrap();
    assert!(spent.is_full(Instant::now() + Duration::from_millis(1501)), "three of 120 a minute, not five");
}

#[test]
fn reading_the_file_again_lets_a_new_caller_in_and_a_revoked_one_not() {
    let place = Place::new();
    let old = place.add("old");
    let admission = place.admission();
    let inside = admission.authenticate(&bearing(&old.clear), PEER).unwrap();
    let new = place.add("new");
    assert_eq!(edit::revoke(&place.file, &old.id).unwrap(), [old.id.to_string()]);
    assert!(admission.authenticate(&bearing(&new.clear), PEER).is_err(), "not read yet");
    admission.reload().unwrap();
    assert!(admission.authenticate(&bearing(&new.clear), PEER).is_ok());
    assert!(admission.authenticate(&bearing(&old.clear), PEER).is_err());
    assert_eq!(&*inside.caller().name, "old", "who was inside stays inside");
    assert!(admission.slot(&inside).is_ok());
}

#[test]
fn a_wrong_file_changes_nothing_and_yields_every_problem() {
    let place = Place::new();
    let token = place.add("hermes");
    let admission = place.admission();
    place.append("\n[callers.x]\nbusy = \"maybe\"\nburts = 3\n\n[tokens.y]\ncaller = \"nobody\"\ndigest = \"md5:1\"\n");
    let problems = admission.reload().unwrap_err();
    let text = problems.to_string();
    for part in ["callers.x.busy: must be one of", "callers.x.burts: is unknown", "tokens.y.digest: must be sha256:"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(admission.authenticate(&bearing(&token.clear), PEER).is_ok());
}

#[test]
fn a_file_that_others_can_read_is_refused_with_the_command_that_mends_it() {
    let place = Place::new();
    place.add("hermes");
    std::fs::set_permissions(&place.file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let problems = Admission::new(&place.config()).unwrap_err().to_string();
    assert!(
        problems.contains("mode 0640") && problems.contains(&format!("chmod 0600 {}", place.file.display())),
        "{problems}"
    );
    assert_eq!(
        problems.matches("callers.toml").count(),
        2,
        "the file is named once as the place and once in the command"
    );
    std::fs::set_permissions(&place.file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(Admission::new(&place.config()).is_ok());
}

#[test]
fn a_missing_file_says_how_to_make_it() {
    let place = Place::new();
    assert!(Admission::new(&place.config()).unwrap_err().to_string().contains("musegate token add"));
}

#[test]
fn a_grant_allows_what_it_lists_and_push_only_where_said() {
    let grant = Grant::default();
    assert_eq!(grant.may("SendMessage"), Ok(()));
    assert_eq!(grant.may("CreateTaskPushNotificationConfig"), Err(Refusal::Forbidden("push notifications")));
    let narrow = Grant { methods: vec!["GetTask".to_owned()], skills: vec!["a".to_owned()], ..Grant::default() };
    assert_eq!(narrow.may("SendMessage"), Err(Refusal::Forbidden("SendMessage")));
    assert_eq!(narrow.may("GetTask"), Ok(()));
    assert!(narrow.may_use("a") && !narrow.may_use("b") && grant.may_use("b"));
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_is_noticed_by_itself_and_a_signal_is_obeyed_at_once() {
    let place = Place::new();
    place.add("hermes");
    let admission = place.admission();
    let (ask, mut asked) = tokio::sync::mpsc::channel::<()>(1);
    let watching = watch(&admission, async || {
        if asked.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    });
    let within = async |token: &str, limit: Duration| {
        let begun = tokio::time::Instant::now();
        while !admission.recognises(&bearing(token)) {
            assert!(begun.elapsed() <= limit, "not noticed");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let story = async {
        tokio::task::yield_now().await;
        within(&place.add("new").clear, Duration::from_secs(3)).await;
        let newer = place.add("newer");
        ask.send(()).await.unwrap();
        within(&newer.clear, Duration::from_millis(500)).await;
    };
    tokio::select! {
        () = watching => panic!("it ended"),
        () = story => {}
    }
}
