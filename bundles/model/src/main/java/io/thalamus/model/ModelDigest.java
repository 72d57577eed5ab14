// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import io.thalamus.memory.files.Digests;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Quantization.PerChannel;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.List;
import java.util.function.Function;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/**
 * Digests of all that makes a model: structure, types and constants. Stateless. They are the same
 * for models that were built in the same way, in any process.
 */
public final class ModelDigest {
  private static final long CHUNK = 1 << 20;

  private ModelDigest() {}

  /**
   * Returns a SHA-256 over everything, 32 bytes: a name of the model, such as the token of NNAPI's
   * compilation caching. Reads all constants.
   *
   * @throws IllegalStateException if the memory of a constant is closed
   */
  public static byte[] of(Model model) {
    return digest(model, constant -> Digests.sha256(constant.bytes()));
  }

  /**
   * Returns a digest, 32 bytes, in which the constants outside of the model count by two checksums,
   * CRC-32C and CRC-32, each of which processors compute several times as fast as SHA-256. Models
   * that differ in one constant have different fingerprints by chance, but not by anybody's will.
   *
   * @throws IllegalStateException if the memory of a constant is closed
   */
  public static byte[] fingerprint(Model model) {
    return digest(model, ModelDigest::checksums);
  }

  private static byte[] checksums(ConstantReference constant) {
    MemorySegment bytes = constant.bytes();
    Checksum first = new CRC32C();
    Checksum second = new CRC32();
    for (long at = 0; at < bytes.byteSize(); at += CHUNK) {
      ByteBuffer part = bytes.asSlice(at, Math.min(CHUNK, bytes.byteSize() - at)).asByteBuffer();
      first.update(part.duplicate());
      second.update(part);
    }
    return ByteBuffer.allocate(2 * Integer.BYTES)
        .putInt((int) first.getValue())
        .putInt((int) second.getValue())
        .array();
  }

  private static byte[] digest(Model model, Function<ConstantReference, byte[]> constants) {
    MessageDigest sha = Digests.sha256();
    try (DataOutputStream out =
        new DataOutputStream(new DigestOutputStream(OutputStream.nullOutputStream(), sha))) {
      out.writeBoolean(model.relaxComputationFloat32toFloat16());
      out.writeInt(model.referenced().size());
      write(out, model.main(), constants);
      for (Subgraph graph : model.referenced()) {
        write(out, graph, constants);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("a digest does not fail", e);
    }
    return sha.digest();
  }

  private static void write(
      DataOutputStream out, Subgraph graph, Function<ConstantReference, byte[]> constants)
      throws IOException {
    out.writeInt(graph.operands().size());
    for (Operand operand : graph.operands()) {
      out.writeUTF(operand.type().text());
      out.writeInt(operand.shape().rank());
      for (int i = 0; i < operand.shape().rank(); i++) {
        out.writeInt(operand.shape().dimension(i));
      }
      write(out, operand.quantization());
      write(out, operand.lifetime(), constants);
    }
    out.writeInt(graph.operations().size());
    for (Operation operation : graph.operations()) {
      out.writeUTF(operation.type().text());
      write(out, operation.inputs());
      write(out, operation.outputs());
    }
    write(out, graph.inputIndexes());
    write(out, graph.outputIndexes());
  }

  private static void write(DataOutputStream out, List<Integer> indexes) throws IOException {
    out.writeInt(indexes.size());
    for (int index : indexes) {
      out.writeInt(index);
    }
  }

  private static void write(DataOutputStream out, Quantization quantization) throws IOException {
    if (quantization instanceof PerChannel channels) {
      out.writeInt(channels.scales().length);
      out.writeInt(channels.channelDimension());
      for (float scale : channels.scales()) {
        out.writeFloat(scale);
      }
    } else {
      out.writeInt(-1);
      out.writeFloat(quantization.scale());
      out.writeInt(quantization.zeroPoint());
    }
  }

  private static void write(
      DataOutputStream out, Lifetime lifetime, Function<ConstantReference, byte[]> constants)
      throws IOException {
    out.writeUTF(lifetime.text());
    if (lifetime instanceof ConstantCopy copy) {
      out.writeInt(copy.value().length);
      out.write(copy.value());
    } else if (lifetime instanceof ConstantReference reference) {
      out.writeLong(reference.length());
      out.write(constants.apply(reference));
    } else if (lifetime instanceof SubgraphReference reference) {
      out.writeInt(reference.index());
    }
  }
}
