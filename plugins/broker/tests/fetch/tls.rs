//! TLS: only with a server that proves to be the host that was named.

use std::sync::{Arc, Mutex};

use confine_core::egress::tool::Code;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::scene::{Scene, Setting, at, code};
use crate::server::ok;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    /// A server that proves to be `name`, and the names that it was asked for.
    async fn server(&self, name: &str) -> (u16, Arc<Mutex<Vec<Option<String>>>>) {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let names = Arc::new(Mutex::new(Vec::new()));
        let asked = names.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                asked.lock().unwrap().push(stream.get_ref().1.server_name().map(str::to_owned));
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(ok("over tls").as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        (port, names)
    }
}

fn scene(port: u16, authority: Option<&Authority>) -> Scene {
    let names = ["good.test", "other.test"];
    let setting = Setting::reaching(&at(port, &names)).named(&names);
    setting.scene_with(|builder| match authority {
        Some(authority) => builder.authority(authority.der()),
        None => builder,
    })
}

#[tokio::test]
async fn only_the_host_that_was_named_is_spoken_with() {
    let authority = Authority::new();
    let (port, names) = authority.server("good.test").await;
    let trusting = scene(port, Some(&authority));
    let answer = trusting.get(&format!("https://GOOD.test.:{port}/")).await.unwrap();
    assert_eq!(answer.body, "over tls");
    assert_eq!(*names.lock().unwrap(), [Some("good.test".to_owned())]);
    let other = trusting.get(&format!("https://other.test:{port}/")).await;
    assert_eq!(code(other), Code::Failed, "the certificate is for another name");
    let unknown = scene(port, None).get(&format!("https://good.test:{port}/")).await;
    assert_eq!(code(unknown), Code::Failed, "nobody trusts the authority");
    let stranger = scene(port, Some(&Authority::new())).get(&format!("https://good.test:{port}/")).await;
    assert_eq!(code(stranger), Code::Failed, "another authority says nothing about it");
    assert_eq!(names.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_without_tls_is_not_spoken_with_by_https() {
    let server = crate::server::Server::saying("plain");
    let port = server.port();
    let answer = scene(port, None).get(&format!("https://good.test:{port}/")).await;
    assert_eq!(code(answer), Code::Failed);
    assert_eq!(scene(port, None).get(&format!("http://good.test:{port}/")).await.unwrap().body, "plain");
}
