// SPDX-License-Identifier: Apache-2.0
/** Protobuf's wire format, as far as the messages of the protocol need it: no generated classes. */
package io.thalamus.grpc.wire;
