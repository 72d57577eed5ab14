// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

/** The kinds of failure, with the codes that protocols give them. */
public enum Failure {
  /** The request contradicts itself or the model: it fails whenever it is sent. */
  INVALID_ARGUMENT(400, 3),
  /** The client did not say who it is. */
  UNAUTHENTICATED(401, 16),
  /** The client may not do that. */
  PERMISSION_DENIED(403, 7),
  /** There is no such model, version, region or path. */
  NOT_FOUND(404, 5),
  /** The body or the value is larger than the server takes. */
  TOO_LARGE(413, 8),
  /** The request is too much for every device: no later try can succeed. */
  UNPROCESSABLE(422, 9),
  /** Too much is waiting; the exception may say when to try again. */
  BUSY(429, 8),
  /** The client left or cancelled. */
  CANCELLED(499, 1),
  /** The execution failed, or the server has a fault. */
  INTERNAL(500, 13),
  /** The server does not do this at all. */
  UNSUPPORTED(501, 12),
  /** The model loads, or the server drains; the exception may say when to try again. */
  UNAVAILABLE(503, 14),
  /** The deadline passed, or would have. */
  DEADLINE_EXCEEDED(504, 4);

  private final int httpStatus;
  private final int grpcStatus;

  Failure(int httpStatus, int grpcStatus) {
    this.httpStatus = httpStatus;
    this.grpcStatus = grpcStatus;
  }

  /** Returns the status of HTTP. */
  public int httpStatus() {
    return httpStatus;
  }

  /** Returns the number of gRPC's status code. */
  public int grpcStatus() {
    return grpcStatus;
  }
}
