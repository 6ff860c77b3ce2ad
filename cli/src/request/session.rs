//! What the session of a call has set for itself, as a layer of the policy.

use confine_core::approval::{ApprovalPolicy, Permissions, SessionId};
use confine_core::policy::file::{Approval, ApprovalDefault};
use confine_core::policy::resolve::Written;
use confine_core::policy::{PolicyFile, Source};
use confine_core::{AbsPath, LaunchFault, LaunchStage};

use crate::{audit, preset};

/// The layer of the session that `$CONFINE_SESSION` names, after the policy's files and before the options; `None` where
/// none is named, or it has set nothing.
///
/// # Errors
/// A name that is none; a log that cannot be trusted; a session with full access.
pub(super) fn layer(base: &AbsPath) -> Result<Option<Written>, LaunchFault> {
    if std::env::var_os(audit::SESSION).is_none() {
        return Ok(None);
    }
    let session = audit::named(None)?;
    let permissions = preset::chosen(&session)?;
    let file = file(&session, &permissions)?;
    let is_set = file != PolicyFile::default();
    Ok(is_set.then(|| Written { file, base: base.clone(), source: Source::CommandLine }))
}

fn file(session: &SessionId, permissions: &Permissions) -> Result<PolicyFile, LaunchFault> {
    let mode = match permissions.mode.map(|mode| mode.policy()) {
        Some(None) => return Err(unconfined(session)),
        mode => mode.flatten(),
    };
    let default = permissions.approval.map(|approval| match approval {
        ApprovalPolicy::Ask => ApprovalDefault::Ask,
        ApprovalPolicy::Never => ApprovalDefault::Never,
    });
    Ok(PolicyFile { mode, approval: Approval { default, audit: None }, ..PolicyFile::default() })
}

fn unconfined(session: &SessionId) -> LaunchFault {
    let text =
        format!("confine in the session `{session}`: it has full access, under which nothing is confined");
    LaunchFault::new(LaunchStage::Policy, text)
        .help("start the command by itself, or choose another preset with `confine preset use`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use confine_core::approval::SessionMode;
    use confine_core::policy::Mode;

    #[test]
    fn a_session_sets_mode_and_approval_and_full_access_is_refused() {
        let session = SessionId::new("s").unwrap();
        let of = |mode, approval| file(&session, &Permissions { preset: None, mode, approval });
        assert_eq!(of(None, None).unwrap(), PolicyFile::default());
        let plan = of(Some(SessionMode::ReadOnly), Some(ApprovalPolicy::Ask)).unwrap();
        assert_eq!((plan.mode, plan.approval.default), (Some(Mode::ReadOnly), Some(ApprovalDefault::Ask)));
        let full = of(Some(SessionMode::DangerFullAccess), Some(ApprovalPolicy::Never)).unwrap_err();
        assert!(full.text.contains("full access") && full.help.is_some());
    }
}
