//! Every message as Python's protobuf encodes it, from a description of the contract that is not ours.

use prost::Message;
use std::fmt::Debug;

/// Made by `make_vectors.py` beside it: a message, its bytes, and the names of its fields that are texts. Every text is
/// the name of its field.
const VECTORS: &str = include_str!("../../../../../tests/fixtures/native/vectors.txt");

/// Decodes and encodes again; the message as text, where every field has its name.
fn again<M: Message + Default + Debug>(bytes: &[u8]) -> (Vec<u8>, String) {
    let message = M::decode(bytes).unwrap();
    (message.encode_to_vec(), format!("{message:?}"))
}

macro_rules! again {
    ($name:expr, $bytes:expr; $($message:ident),* $(,)?) => {
        match $name {
            $(name if name.eq_ignore_ascii_case(stringify!($message)) => again::<super::$message>($bytes),)*
            other => panic!("the contract has no message {other}"),
        }
    };
}

fn of(name: &str, bytes: &[u8]) -> (Vec<u8>, String) {
    again!(name, bytes;
        HealthCheckRequest, HealthCheckResponse, SettingsMap, UserContext, Empty, ErrorResponse,
        GatewayRequest, GatewayMessage, GatewayToolDef, GatewayEvent, PollRequest, PollResponse,
        CancelRequest, CancelResponse, NameResponse, DescriptionResponse, SchemaResponse, ExecuteRequest,
        ExecuteResponse, ApprovalResponse, CommNameResponse, CommVersionResponse, CommConnectRequest,
        CommConnectResponse, CommDisconnectResponse, CommIsConnectedResponse, CommSendRequest,
        CommSendResponse, CommSubscribeRequest, CommSubscribeResponse, CommUnsubscribeRequest,
        CommUnsubscribeResponse, CommRegisterRequest, CommRegisterResponse, CommDeregisterResponse,
        CommMessage, IdResponse, ChannelConnectRequest, ChannelConnectResponse, ChannelDisconnectResponse,
        ChannelSendRequest, ChannelSendResponse, InboundMessage, MessageSender, Attachment, MessageAction,
        HttpRequest, HttpResponse, Schedule, ScheduleTrigger, CreateScheduleRequest, GetScheduleRequest,
        ListSchedulesRequest, ListSchedulesResponse, UpdateScheduleRequest, ScheduleResponse,
        DeleteScheduleRequest, DeleteScheduleResponse, ScheduleNameRequest, TriggerResponse,
        ScheduleHistoryRequest, ScheduleHistoryResponse, ScheduleHistoryEntry, HookRequest, HookResponse,
        HookList, HookRegistration,
    )
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let hex = if hex == "-" { "" } else { hex };
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn every_message_is_understood_and_written_as_another_implementation_writes_it() {
    let mut count = 0;
    for line in VECTORS.lines() {
        let [name, hex, texts] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let bytes = bytes_of(hex);
        let (encoded, shown) = of(name, &bytes);
        assert_eq!(encoded, bytes, "{name}");
        for field in texts.split(',').filter(|field| *field != "-") {
            assert!(shown.contains(&format!("{field}: \"{field}\"")), "{name}.{field}: {shown}");
        }
        // What a later version of the contract adds is passed over.
        let (passed_over, _) = of(name, &[bytes.as_slice(), &[0xfa, 0x3f, 1, 0]].concat());
        assert_eq!(passed_over, bytes, "{name}");
        count += 1;
    }
    assert_eq!(count, 67, "every message of the contract");
}
