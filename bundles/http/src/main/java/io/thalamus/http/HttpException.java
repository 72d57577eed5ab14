// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http;

import java.util.Map;

/** A request is answered with an error. The message is one line for the client. */
public final class HttpException extends Exception {
  private static final long serialVersionUID = 1L;

  private final int status;

  /** Of a kind that is serializable. */
  private final transient Map<String, String> headers;

  public HttpException(int status, String message, Map<String, String> headers) {
    super(message);
    this.status = status;
    this.headers = Map.copyOf(headers);
  }

  /** Returns the status, 400 to 599. */
  public int status() {
    return status;
  }

  /** Returns further headers of the answer. */
  public Map<String, String> headers() {
    return headers == null ? Map.of() : headers;
  }
}
