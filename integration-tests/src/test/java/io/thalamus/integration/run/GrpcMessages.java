// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The calls that proofs make, whose messages are bytes. */
public final class GrpcMessages {
  /** Gives back what it gets. */
  public static final MethodDescriptor<byte[], byte[]> ECHO = method("thalamus.Echo/Echo");

  static final MethodDescriptor<byte[], byte[]> INFER =
      method("inference.GRPCInferenceService/ModelInfer");

  static final MethodDescriptor<byte[], byte[]> STREAM =
      method("inference.GRPCInferenceService/ModelStreamInfer").toBuilder()
          .setType(MethodType.BIDI_STREAMING)
          .build();

  private GrpcMessages() {}

  private static MethodDescriptor<byte[], byte[]> method(String name) {
    MethodDescriptor.Marshaller<byte[]> bytes =
        new MethodDescriptor.Marshaller<>() {
          @Override
          public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
          }

          @Override
          public byte[] parse(InputStream stream) {
            try {
              return stream.readAllBytes();
            } catch (IOException e) {
              throw new UncheckedIOException(e);
            }
          }
        };
    return MethodDescriptor.newBuilder(bytes, bytes)
        .setType(MethodType.UNARY)
        .setFullMethodName(name)
        .build();
  }
}
