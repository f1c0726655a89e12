use super::*;
use musegate_protocol::bounded::{Label, List};
use musegate_protocol::codec::SupervisorCodec;
use musegate_protocol::message::{
    Hello, HelloAck, INITIAL_CREDIT, InstanceId, JobLimits, PROTOCOL, Progress, PromptPart, Report, StartJob,
};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::codec::Decoder;

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn start(job: u64) -> ToWorker {
    ToWorker::Start(Box::new(StartJob {
        job: JobId(job),
        caller: label("hermes"),
        task: label("t"),
        context: label("c"),
        message: Text::default(),
        trace: [0; 16],
        turns: List::default(),
        parts: List::new(vec![PromptPart::Text(Text::default())]).unwrap(),
        output_schema: None,
        structured: false,
        limits: JobLimits { wall_seconds: 0, output_bytes: 0, files: 0, file_bytes: 0 },
    }))
}

/// A link on which this job runs, and its line.
fn open(job: u64) -> (Arc<Link>, JobLine) {
    let link = Arc::<Link>::default();
    let (build, instance) = (label("b"), InstanceId([1; 16]));
    link.received(&ToWorker::Hello(Hello { version: PROTOCOL, build: build.clone(), instance })).unwrap();
    let ack = HelloAck {
        version: PROTOCOL,
        build: build.clone(),
        instance,
        slots: 1,
        backend: build,
        backend_version: Text::default(),
        limits: JobLimits { wall_seconds: 0, output_bytes: 0, files: 0, file_bytes: 0 },
        report: Report::default(),
        own: Report::default(),
    };
    link.send(&FromWorker::HelloAck(Box::new(ack))).unwrap();
    let line = join(&link, job);
    (link, line)
}

fn join(link: &Arc<Link>, job: u64) -> JobLine {
    link.received(&start(job)).unwrap();
    let line = link.job(JobId(job));
    line.send(&FromWorker::Accepted { job: JobId(job) }).unwrap();
    line
}

/// All frames that wait, as the supervisor reads them.
fn written(link: &Link) -> Vec<FromWorker> {
    let mut bytes = std::mem::take(&mut link.state().out);
    let mut codec = SupervisorCodec::default();
    std::iter::from_fn(|| codec.decode(&mut bytes).unwrap()).collect()
}

#[test]
fn output_stops_at_the_end_of_the_credit_and_goes_on_with_more() {
    let (link, line) = open(1);
    let text = "x".repeat(MAX_CHUNK);
    let mut offset = 0;
    while let Some(sent) = line.output(offset as u64, false, &text).unwrap() {
        written(&link);
        offset += sent;
    }
    let frames = INITIAL_CREDIT.div_ceil(MAX_CHUNK as u32 + FRAME);
    assert_eq!(offset, (INITIAL_CREDIT - frames * FRAME) as usize);
    assert_eq!(line.try_send(&FromWorker::Progress { job: JobId(1), event: Progress::Started }), Ok(false));
    link.received(&ToWorker::Credit { job: JobId(1), bytes: FRAME + 2 }).unwrap();
    assert_eq!(line.output(offset as u64, false, "äöü"), Ok(Some(2)), "whole characters only");
    assert_eq!(line.output(offset as u64 + 2, false, "öü"), Ok(None));
    assert_eq!(link.broken(), None);
}

#[test]
fn what_costs_no_credit_passes_without_credit_and_behind_a_slow_socket() {
    let (link, line) = open(1);
    link.state().out.resize(HIGH, 0);
    assert_eq!(line.output(0, false, "text"), Ok(None));
    assert_eq!(line.output(0, true, ""), Ok(Some(0)));
    link.received(&ToWorker::Ping { nonce: 7 }).unwrap();
    link.send(&FromWorker::Pong { nonce: 7, jobs: 1, resident_kib: 0, descriptors: 0 }).unwrap();
    assert!(link.state().out.len() > HIGH);
}

#[tokio::test]
async fn a_job_is_woken_by_its_own_credit_only() {
    let (link, one) = open(1);
    let two = join(&link, 2);
    link.received(&ToWorker::Credit { job: JobId(2), bytes: 10 }).unwrap();
    timeout(Duration::from_secs(5), two.room()).await.unwrap();
    assert!(timeout(Duration::from_millis(20), one.room()).await.is_err());
}

#[tokio::test]
async fn jobs_behind_a_slow_socket_are_woken_when_it_has_taken_half() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (link, line) = open(1);
    link.state().out.resize(HIGH, 0);
    assert_eq!(line.output(0, false, "text"), Ok(None));
    let read = async {
        let mut buffer = vec![0; 64 << 10];
        while link.waits().0 {
            link.write(&ours).unwrap();
            let _ = theirs.try_read(&mut buffer);
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(5), read).await.unwrap();
    timeout(Duration::from_secs(5), line.room()).await.unwrap();
    assert_eq!(line.output(0, false, "text"), Ok(Some(4)));
}

#[tokio::test]
async fn the_end_of_the_connection_wakes_and_tells_every_job() {
    let (link, line) = open(1);
    link.close();
    timeout(Duration::from_secs(5), line.room()).await.unwrap();
    assert_eq!(line.output(0, false, "text"), Err(Gone));
    assert_eq!(line.send(&FromWorker::Accepted { job: JobId(1) }), Err(Gone));
    assert_eq!(link.waits(), (false, false));
}

#[test]
fn what_the_order_forbids_us_is_not_sent_and_breaks_the_link() {
    let (link, line) = open(1);
    written(&link);
    assert_eq!(line.send(&FromWorker::Accepted { job: JobId(1) }), Err(Gone), "said twice");
    assert!(link.broken().is_some());
    assert_eq!(written(&link), []);
}
