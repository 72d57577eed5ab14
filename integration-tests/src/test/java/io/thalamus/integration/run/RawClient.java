// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * A client that sends any bytes, and understands of the answer only what it must. Keeps its
 * connection as long as the server does. Used by one thread.
 */
final class RawClient implements AutoCloseable {
  /** The server has closed the connection without an answer. */
  static final int CLOSED = 0;

  /** The server says nothing. */
  static final int SILENT = -1;

  private static final int PATIENCE_MILLIS = 30_000;
  private static final int SLOW_MILLIS = 50;

  private final String address;
  private Socket socket;
  private InputStream in;

  RawClient(String address) {
    this.address = address;
  }

  static Socket connect(String address) throws IOException {
    int colon = address.lastIndexOf(':');
    Socket socket = new Socket();
    socket.connect(
        new InetSocketAddress(
            address.substring(0, colon), Integer.parseInt(address.substring(colon + 1))));
    socket.setSoTimeout(PATIENCE_MILLIS);
    socket.setTcpNoDelay(true);
    // The end takes no port out of use for a while.
    socket.setSoLinger(true, 0);
    return socket;
  }

  static void drop(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      throw new IllegalStateException("a socket cannot be closed", e);
    }
  }

  /**
   * Sends bytes and returns the status of the answer, {@link #CLOSED} or {@link #SILENT}.
   *
   * @param isCut whether nothing follows on this connection, and the server is told so
   */
  int send(byte[] bytes, boolean isCut) {
    try {
      if (socket == null) {
        socket = connect(address);
        in = new BufferedInputStream(socket.getInputStream());
      }
      boolean isSent = write(bytes, isCut);
      int status = read();
      if (isCut || !isSent || status <= 0) {
        close();
      }
      return status;
    } catch (SocketTimeoutException e) {
      close();
      return SILENT;
    } catch (IOException e) {
      // As it is when the server has ended the connection with bytes unread.
      close();
      return CLOSED;
    }
  }

  /** Sends, and returns false if the server took no more: it may have answered already. */
  private boolean write(byte[] bytes, boolean isCut) {
    try {
      socket.getOutputStream().write(bytes);
      if (isCut) {
        socket.shutdownOutput();
      }
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private int read() throws IOException {
    String head = head();
    if (head.isEmpty()) {
      return CLOSED;
    }
    int status = Integer.parseInt(head.substring(9, 12));
    String lower = head.toLowerCase(Locale.ROOT);
    int at = lower.indexOf("\r\ncontent-length: ");
    if (at < 0) {
      throw new IOException("an answer without a length: " + head);
    }
    int from = at + "\r\ncontent-length: ".length();
    int length = Integer.parseInt(lower.substring(from, lower.indexOf('\r', from)));
    byte[] body = in.readNBytes(length);
    if (status >= 400 && !new String(body, StandardCharsets.UTF_8).startsWith("{\"error\":\"")) {
      throw new IllegalStateException(
          "a refusal that says nothing: " + head + new String(body, StandardCharsets.UTF_8));
    }
    if (lower.contains("\r\nconnection: close")) {
      close();
    }
    return status;
  }

  /** Reads up to the empty line; returns nothing if the connection ends before. */
  private String head() throws IOException {
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    int ends = 0;
    while (ends < 4) {
      int next = in.read();
      if (next < 0) {
        return "";
      }
      head.write(next);
      ends = next == (ends % 2 == 0 ? '\r' : '\n') ? ends + 1 : next == '\r' ? 1 : 0;
    }
    return head.toString(StandardCharsets.ISO_8859_1);
  }

  /** Sends a byte now and then, and returns whether the server ended that. */
  static boolean sendSlowly(String address, boolean isHead) {
    Socket socket = null;
    try {
      socket = connect(address);
      String begin = "POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\n";
      String rest = isHead ? "X-Slow: " : "Content-Length: 1000000\r\n\r\n";
      socket.getOutputStream().write((begin + rest).getBytes(StandardCharsets.ISO_8859_1));
      long end = System.nanoTime() + PATIENCE_MILLIS * 1_000_000L;
      while (System.nanoTime() - end < 0) {
        socket.getOutputStream().write('x');
        Thread.sleep(SLOW_MILLIS);
      }
      return false;
    } catch (IOException e) {
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      if (socket != null) {
        drop(socket);
      }
    }
  }

  @Override
  public void close() {
    if (socket != null) {
      drop(socket);
      socket = null;
    }
  }
}
