// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Decompressor;
import java.io.InputStream;
import java.util.zip.InflaterInputStream;

/** The encoding {@code deflate}, which clients in Python and C++ have and gRPC for Java has not. */
final class DeflateDecompressor implements Decompressor {
  @Override
  public String getMessageEncoding() {
    return "deflate";
  }

  @Override
  public InputStream decompress(InputStream in) {
    return new InflaterInputStream(in);
  }
}
