// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.memory.files.Digests;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Quantization;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Subgraph;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.List;

/**
 * A digest of all of a model but the larger constants, which would cost as much to read as some
 * devices need to compile. Stateless.
 *
 * <p>It catches what an application's token often does not: that a reader of model files, or a rule
 * that simplifies models, has become another.
 */
final class ModelStructure {
  private ModelStructure() {}

  /** 32 bytes. */
  static byte[] digest(Model model) {
    MessageDigest sha = Digests.sha256();
    try (DataOutputStream out =
        new DataOutputStream(new DigestOutputStream(OutputStream.nullOutputStream(), sha))) {
      out.writeBoolean(model.relaxComputationFloat32toFloat16());
      out.writeInt(model.referenced().size());
      write(out, model.main());
      for (Subgraph graph : model.referenced()) {
        write(out, graph);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("a digest does not fail", e);
    }
    return sha.digest();
  }

  private static void write(DataOutputStream out, Subgraph graph) throws IOException {
    out.writeInt(graph.operands().size());
    for (Operand operand : graph.operands()) {
      out.writeUTF(operand.type().text());
      out.writeInt(operand.shape().rank());
      for (int i = 0; i < operand.shape().rank(); i++) {
        out.writeInt(operand.shape().dimension(i));
      }
      write(out, operand.quantization());
      write(out, operand.lifetime());
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

  private static void write(DataOutputStream out, Lifetime lifetime) throws IOException {
    out.writeUTF(lifetime.text());
    if (lifetime instanceof ConstantCopy copy) {
      out.writeInt(copy.value().length);
      out.write(copy.value());
    } else if (lifetime instanceof ConstantReference reference) {
      out.writeLong(reference.length());
    } else if (lifetime instanceof SubgraphReference reference) {
      out.writeInt(reference.index());
    }
  }
}
