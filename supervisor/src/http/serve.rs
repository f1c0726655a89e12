//! One request's walk through the rooms, in their order. The only file that sees them all.
//!
//! Promises: every answer, refusals too, is complete in the shape that was asked for; what was admitted leaves exactly
//! one record; each room gets what the room before it gave, so that skipping a door does not compile. No lock is held
//! across an await.

use super::body::{Body, collect, uncoded};
use super::early::Early;
use super::router::{CardPath, Route, route};
use super::walk::Walk;
use crate::admission::Admitted;
use crate::audit::{Record, Verdict};
use crate::card::{Enforced, Reader};
use crate::dialect::{Call, Rejection, ReplyTo, decode};
use crate::link::{Connector, Link, Spec};
use crate::refusal::Refusal;
use crate::rooms::Rooms;
use crate::skills::Skills;
use crate::tasks::{Bounds, Tasks};
use crate::trace::{TRACERESPONSE, Trace};
use futures_util::future::{Either, Ready, ready};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use musegate_protocol::bounded::Label;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// Longest wait of CancelTask for the end of the processes.
const CANCEL: Duration = Duration::from_secs(20);

/// Everything that a request needs.
#[derive(Debug)]
pub struct Serve {
    pub(crate) rooms: Rooms,
    pub(crate) tasks: Tasks,
    pub(super) link: Link,
    pub(super) skills: Arc<Skills>,
    early: Early,
}

/// The answer, or the wait for it.
pub type Answering = Either<Ready<Response<Body>>, Pin<Box<dyn Future<Output = Response<Body>> + Send>>>;

/// What runs beside the requests.
#[derive(Debug)]
pub struct Background {
    serve: Arc<Serve>,
    connector: Connector,
}

impl Serve {
    /// The rooms behind the doors that are open already, and what has to run for them to work.
    #[must_use]
    pub fn new(rooms: Rooms) -> (Arc<Self>, Background) {
        let config = &rooms.config;
        let (link, connector) = Link::new(Spec {
            socket: config.worker.socket.clone(),
            uid: config.worker.uid,
            heartbeat: config.worker.heartbeat,
            build: Label::near(concat!("musegate-supervisor-", env!("CARGO_PKG_VERSION"))),
        });
        let bounds = Bounds { kept: config.tasks.clone(), stall: config.listen.stall_timeout, cancel: CANCEL };
        let tasks = Tasks::new(bounds, link.clone());
        let skills = Arc::new(Skills::new(config));
        let serve = Arc::new(Self { rooms, tasks, link, skills, early: Early::new() });
        (Arc::clone(&serve), Background { serve, connector })
    }

    /// The Tasks.
    #[must_use]
    pub const fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The link to the worker.
    #[must_use]
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// Answers one request. What needs no waiting is answered at once, so that whoever is turned away costs little.
    pub fn answer(self: &Arc<Self>, request: Request<Incoming>, peer: SocketAddr) -> Answering {
        let (head, body) = request.into_parts();
        match self.enter(&head, peer.ip()) {
            Ok((route, admitted, record)) => {
                let call = Arc::clone(self).call(route, head, body, admitted, record);
                Answering::Right(Box::pin(call))
            }
            Err(answer) => Answering::Left(ready(answer)),
        }
    }

    /// The rooms before the body: an admitted call, or the answer to everything else.
    #[expect(
        clippy::result_large_err,
        reason = "the answer is moved once, a box would cost every stranger an allocation"
    )]
    fn enter(&self, head: &Parts, peer: IpAddr) -> Result<(Route, Admitted, Record), Response<Body>> {
        let refuse = |route: &Route, refusal| {
            self.rooms.audit.count(&refusal);
            tracing::debug!(%peer, word = refusal.row().word, "refused");
            self.early.refusal(route, &refusal)
        };
        let route = route(&head.method, head.uri.path()).map_err(|refusal| refuse(&Route::Rpc, refusal))?;
        self.rooms.guard.check(&head.uri, &head.headers).map_err(|refusal| refuse(&route, refusal))?;
        if let Route::Card(path) = route {
            return Err(self.card(path, head).unwrap_or_else(|refusal| refuse(&route, refusal)));
        }
        let (admitted, record) = self.admit(head, peer).map_err(|refusal| refuse(&route, refusal))?;
        Ok((route, admitted, record))
    }

    fn card(&self, path: CardPath, head: &Parts) -> Result<Response<Body>, Refusal> {
        let known = self.rooms.admission.recognises(&head.headers);
        let reader = if known { Reader::Known } else { Reader::Stranger };
        self.rooms.cards.well_known(path == CardPath::Agent, &head.headers, head.uri.query(), host(head), reader)
    }

    fn admit(&self, head: &Parts, peer: IpAddr) -> Result<(Admitted, Record), Refusal> {
        let admitted = self.rooms.admission.authenticate(&head.headers, peer)?;
        let record = self.rooms.audit.begin(&admitted)?;
        Ok((admitted, record))
    }

    async fn call(
        self: Arc<Self>,
        route: Route,
        head: Parts,
        body: Incoming,
        admitted: Admitted,
        mut record: Record,
    ) -> Response<Body> {
        let trace = Trace::of(&head.headers);
        record.trace(&trace.to_string());
        // Its lowest level, so that whatever is logged within it is logged with it.
        let span = tracing::error_span!("request", %trace, caller = %admitted.caller().name);
        let answering = self.perform(route, head, body, admitted, record, trace);
        let mut response = answering.instrument(span).await;
        response.headers_mut().insert(TRACERESPONSE, trace.response());
        response
    }

    async fn perform(
        self: Arc<Self>,
        route: Route,
        head: Parts,
        body: Incoming,
        admitted: Admitted,
        mut record: Record,
        trace: Trace,
    ) -> Response<Body> {
        match self.read(&route, &head, body, &mut record).await {
            Ok(call) => {
                record.operation(call.operation.name(), call.reply.version, call.reply.binding);
                let walk = Walk {
                    serve: self,
                    admitted,
                    trace,
                    reply: call.reply,
                    record: Some(record),
                    host: host(&head).to_owned(),
                    verdict: Verdict::Answered,
                };
                walk.perform(call.operation, &head.headers).await
            }
            Err(Rejection { reply, refusal }) => {
                tracing::debug!(word = refusal.row().word, "refused");
                let reply = reply.refusal(&refusal);
                record.refused(&refusal);
                record.answered(reply.status.as_u16());
                reply.into_response()
            }
        }
    }

    async fn read(&self, route: &Route, head: &Parts, body: Incoming, record: &mut Record) -> Result<Call, Rejection> {
        let listen = &self.rooms.config.listen;
        let refuse = |refusal| Rejection { reply: ReplyTo::for_route(route), refusal };
        uncoded(&head.headers).map_err(refuse)?;
        let body = collect(body, listen.max_body_bytes, listen.body_timeout).await.map_err(refuse)?;
        record.request(body.len() as u64, None, None);
        decode(route, &head.headers, head.uri.query(), &body)
    }
}

impl Background {
    /// Never returns.
    pub async fn run(self) {
        let tasks = self.serve.tasks.clone().tend();
        let pushes = self.serve.rooms.pushes.clone();
        let pushing = async {
            if let Some(pushes) = &pushes {
                pushes.run().await;
            }
        };
        tokio::join!(self.connector.run(), tasks, self.serve.follow(), pushing);
    }
}

impl Serve {
    /// The worker says how many jobs it runs at once and what it enforces; doors and cards follow.
    async fn follow(&self) {
        let mut worker = self.link.watch();
        loop {
            let there = worker.borrow_and_update().clone();
            if let Some(there) = &there {
                self.rooms.admission.set_worker_slots(there.slots);
            }
            self.rooms.cards.set_enforced(there.map(|there| Enforced {
                report: there.report,
                worker: there.own,
                supervisor: self.rooms.walls,
                limits: there.limits,
                slots: there.slots,
                backend: there.backend.to_string(),
            }));
            if worker.changed().await.is_err() {
                return;
            }
        }
    }
}

/// What the client called us.
fn host(head: &Parts) -> &str {
    let authority = head.uri.authority().map(hyper::http::uri::Authority::as_str);
    authority.or_else(|| head.headers.get(HOST)?.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test is its own client and looks at the files")]
pub(crate) mod house;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod tests;
