// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.grpc.wire.WireException;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;

/** Failures as gRPC tells them. */
final class Failures {
  private static final System.Logger LOG = System.getLogger(Failures.class.getPackageName());

  /** The details of a status, for clients that look for more than a code and a message. */
  static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private static final String RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";

  private Failures() {}

  /** Returns the failure of a message that cannot be read. */
  static ServingException unreadable(IOException e) {
    if (e.getCause() instanceof StatusRuntimeException large
        && large.getStatus().getCode() == Status.Code.RESOURCE_EXHAUSTED) {
      String message = ServingException.line(e.getMessage());
      return new ServingException(Failure.TOO_LARGE, message, Optional.empty(), e);
    }
    String what = e instanceof WireException ? "the message is damaged: " : "the message is lost: ";
    return new ServingException(
        Failure.INVALID_ARGUMENT,
        what + ServingException.line(e.getMessage()),
        Optional.empty(),
        e);
  }

  /** Returns the failure of a fault of ours, which is logged. */
  static ServingException fault(String what, RuntimeException e) {
    LOG.log(Level.ERROR, what + " met a fault", e);
    return new ServingException(
        Failure.INTERNAL, "the server has a fault, which its log tells", Optional.empty(), e);
  }

  static Status status(ServingException failure) {
    return Status.fromCodeValue(failure.failure().grpcStatus())
        .withDescription(failure.getMessage());
  }

  /** Returns the trailers: when to try again, where that is known. */
  static Metadata trailers(ServingException failure) {
    Metadata trailers = new Metadata();
    if (failure.retryAfter().isPresent()) {
      Duration delay = failure.retryAfter().get();
      MessageWriter duration =
          new MessageWriter().integer(1, delay.getSeconds()).integer(2, delay.getNano());
      MessageWriter retryInfo = new MessageWriter().message(1, duration);
      MessageWriter any = new MessageWriter().text(1, RETRY_INFO).message(2, retryInfo);
      trailers.put(
          DETAILS,
          new MessageWriter()
              .integer(1, failure.failure().grpcStatus())
              .text(2, failure.getMessage())
              .message(3, any)
              .toBytes());
    }
    return trailers;
  }
}
