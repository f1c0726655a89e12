//! One HTTP request at a time to an agent: plain on loopback or wherever asked, TLS for `https`. No redirect is ever
//! followed, so a token goes only where it was sent. Answers are bounded in size and time.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use zeroize::Zeroizing;

/// Most bytes of an answer.
const MAX_ANSWER: usize = 96 * 1024 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The address is not one we can call.
    #[error("{0}")]
    Url(String),
    /// The token cannot stand in a header.
    #[error("the token holds characters that no token has")]
    Token,
    /// No connection.
    #[error("no connection to {0}: {1}")]
    Connect(String, std::io::Error),
    /// TLS.
    #[error("no TLS with {0}: {1}")]
    Tls(String, String),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(hyper::Error),
    /// Too slow.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// Too large.
    #[error("the answer is over {MAX_ANSWER} bytes")]
    TooLarge,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// `Retry-After` in seconds, where it was a number.
    pub retry_after: Option<u64>,
    /// Body.
    pub body: Bytes,
}

/// An agent's address and the right to speak to it.
#[derive(Clone)]
pub struct Peer {
    /// Bearer token, if any.
    pub token: Option<Zeroizing<String>>,
    /// `A2A-Version` that is sent, if any.
    pub version: Option<&'static str>,
    /// For one request, from connecting to the last byte.
    pub timeout: Duration,
}

impl Peer {
    /// GET, taking JSON.
    ///
    /// # Errors
    /// [`NoAnswer`]; an HTTP status is an answer.
    pub async fn get(&self, url: &Uri) -> Result<Answer, NoAnswer> {
        self.request(Method::GET, url, Bytes::new()).await
    }

    /// POST of JSON.
    ///
    /// # Errors
    /// [`NoAnswer`]; an HTTP status is an answer.
    pub async fn post(&self, url: &Uri, body: Bytes) -> Result<Answer, NoAnswer> {
        self.request(Method::POST, url, body).await
    }

    async fn request(&self, method: Method, url: &Uri, body: Bytes) -> Result<Answer, NoAnswer> {
        let exchange = self.exchange(method, url, body);
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or(Err(NoAnswer::Timeout(self.timeout)))
    }

    async fn exchange(&self, method: Method, url: &Uri, body: Bytes) -> Result<Answer, NoAnswer> {
        let authority = url.authority().ok_or_else(|| NoAnswer::Url(format!("{url} names no host")))?;
        let tls = match url.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(NoAnswer::Url(format!("{url} is neither http nor https"))),
        };
        let bare_host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let connected = TcpStream::connect((bare_host, port)).await;
        let tcp = connected.map_err(|error| NoAnswer::Connect(authority.to_string(), error))?;
        let request = self.build(method, url, authority.as_str(), body)?;
        if !tls {
            return talk(TokioIo::new(tcp), request).await;
        }
        let failed = |error: &dyn std::fmt::Display| NoAnswer::Tls(authority.to_string(), error.to_string());
        let name = ServerName::try_from(bare_host.to_owned()).map_err(|error| failed(&error))?;
        let connector = tokio_rustls::TlsConnector::from(tls_config().map_err(|error| failed(&error))?);
        let stream = connector.connect(name, tcp).await.map_err(|error| failed(&error))?;
        talk(TokioIo::new(stream), request).await
    }

    fn build(&self, method: Method, url: &Uri, host: &str, body: Bytes) -> Result<Request<Full<Bytes>>, NoAnswer> {
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, host)
            .header(USER_AGENT, concat!("musegate/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json");
        if let Some(version) = self.version {
            request = request.header("A2A-Version", version);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            let text = Zeroizing::new(format!("Bearer {}", token.as_str()));
            let mut value = HeaderValue::from_str(&text).map_err(|_| NoAnswer::Token)?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        request.body(Full::new(body)).map_err(|error| NoAnswer::Url(error.to_string()))
    }
}

async fn talk<S>(io: TokioIo<S>, request: Request<Full<Bytes>>) -> Result<Answer, NoAnswer>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(NoAnswer::Broken)?;
    let driver = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(NoAnswer::Broken)?;
    let (head, body) = response.into_parts();
    let body = match Limited::new(body, MAX_ANSWER).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => match error.downcast::<hyper::Error>() {
            Ok(error) => return Err(NoAnswer::Broken(*error)),
            Err(other) if other.is::<LengthLimitError>() => return Err(NoAnswer::TooLarge),
            Err(_) => return Err(NoAnswer::TooLarge),
        },
    };
    driver.abort();
    let retry_after = head.headers.get(RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    Ok(Answer { status: head.status, retry_after, body })
}

fn tls_config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(rustls_graviola::default_provider());
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
