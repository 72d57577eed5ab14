// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import io.thalamus.memory.files.Digests;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Quantization.PerChannel;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
    // Digested at once: a call for each number would cost a new process more than the digest.
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      new Writer(out, constants).write(model);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    return Digests.sha256().digest(bytes.toByteArray());
  }

  /** Writes all of a model so that no two models are written alike. Used once. */
  private static final class Writer {
    private final DataOutputStream out;
    private final Function<ConstantReference, byte[]> constants;
    private final Map<String, Integer> names = new HashMap<>();

    Writer(DataOutputStream out, Function<ConstantReference, byte[]> constants) {
      this.out = out;
      this.constants = constants;
    }

    void write(Model model) throws IOException {
      out.writeBoolean(model.relaxComputationFloat32toFloat16());
      out.writeInt(model.referenced().size());
      write(model.main());
      for (Subgraph graph : model.referenced()) {
        write(graph);
      }
    }

    private void write(Subgraph graph) throws IOException {
      out.writeInt(graph.operands().size());
      for (Operand operand : graph.operands()) {
        write(operand.type().text());
        out.writeInt(operand.shape().rank());
        for (int i = 0; i < operand.shape().rank(); i++) {
          out.writeInt(operand.shape().dimension(i));
        }
        write(operand.quantization());
        write(operand.lifetime());
      }
      out.writeInt(graph.operations().size());
      for (Operation operation : graph.operations()) {
        write(operation.type().text());
        write(operation.inputs());
        write(operation.outputs());
      }
      write(graph.inputIndexes());
      write(graph.outputIndexes());
    }

    /** Writes a name where it first occurs, and from then on its number. */
    private void write(String name) throws IOException {
      Integer known = names.putIfAbsent(name, names.size());
      out.writeInt(known == null ? names.size() - 1 : known);
      if (known == null) {
        out.writeUTF(name);
      }
    }

    private void write(List<Integer> indexes) throws IOException {
      out.writeInt(indexes.size());
      for (int index : indexes) {
        out.writeInt(index);
      }
    }

    private void write(Quantization quantization) throws IOException {
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

    private void write(Lifetime lifetime) throws IOException {
      write(lifetime.text());
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
}
