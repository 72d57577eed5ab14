// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.driver.cache.CacheContents;
import io.thalamus.driver.cache.CachedGraph;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.Subgraph;
import io.thalamus.simd.compile.ExactParts;
import io.thalamus.simd.compile.PackedWeights.Weights;
import io.thalamus.simd.kernel.PackedMatrix;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A compiled model as it stands in the cache. Steps are objects over vectors of this processor, so
 * the model cache holds the graph, of which they are made again in little time, and the shapes of
 * the packed weights. The data cache holds the values of constants, without those that were packed,
 * and behind them the packed weights. Immutable.
 *
 * <p>Its reader has been told by the caching engine that the device wrote these bytes.
 *
 * @param graph with all constants, or as {@link CachedGraph} reads it
 * @param weights in the order of the compiler
 */
record CachedProgram(Subgraph graph, List<Weights> weights) {
  private static final int MAGIC = 'T' | 'S' << 8 | 'M' << 16 | 'D' << 24;

  /** Changes with the layout of the files. */
  private static final int VERSION = 1;

  private static final int SETTINGS = 32;
  private static final int FIXED = 2 * Integer.BYTES + SETTINGS;

  CachedProgram {
    weights = List.copyOf(weights);
  }

  /** Returns a digest of what differs between programs that must not be exchanged. */
  private static byte[] settings(String version) {
    return Digests.sha256(version + '\0' + PackedMatrix.layout());
  }

  /**
   * Returns it as files.
   *
   * @param most bytes of a file: empty if it needs more
   */
  Optional<CacheContents> write(String version, long most) {
    long packed = 0;
    for (Weights one : weights) {
      packed += one.matrix().data().byteSize();
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ByteArrayOutputStream values = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(MAGIC);
      out.writeInt(VERSION);
      out.write(settings(version));
      CachedGraph.write(graph, onlyPacked(), out, values);
      write(out);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    if (values.size() + packed > most) {
      return Optional.empty();
    }
    byte[] data = Arrays.copyOf(values.toByteArray(), values.size() + (int) packed);
    int at = values.size();
    for (Weights one : weights) {
      MemorySegment from = one.matrix().data();
      MemorySegment.copy(from, ValueLayout.JAVA_BYTE, 0, data, at, (int) from.byteSize());
      at += (int) from.byteSize();
    }
    return Optional.of(new CacheContents(List.of(bytes.toByteArray()), List.of(data)));
  }

  /** Returns the operands of whose values nothing but the packed form is read. */
  private Set<Integer> onlyPacked() {
    Set<Integer> omitted = new HashSet<>();
    int[] uses = new int[graph.operands().size()];
    graph.operations().forEach(one -> one.inputs().forEach(input -> uses[input]++));
    graph.outputIndexes().forEach(output -> uses[output]++);
    weights.forEach(one -> uses[one.operand()]--);
    weights.stream()
        .map(Weights::operand)
        .filter(operand -> uses[operand] == 0)
        .forEach(omitted::add);
    return omitted;
  }

  private void write(DataOutputStream out) throws IOException {
    out.writeInt(weights.size());
    for (Weights one : weights) {
      out.writeInt(one.operand());
      out.writeInt(one.matrix().rows());
      out.writeInt(one.matrix().columns());
      out.writeInt((int) one.matrix().data().byteSize());
      out.writeInt(one.parts() == null ? 0 : one.parts().bounds().size());
      if (one.parts() != null) {
        out.writeLong(one.parts().largest());
        for (int bound : one.parts().bounds()) {
          out.writeInt(bound);
        }
      }
    }
  }

  /**
   * Returns what stands in files that the device wrote itself, and that are untouched.
   *
   * @throws IOException if another version of the device wrote them, or for other vectors
   */
  static CachedProgram read(CacheContents contents, String version) throws IOException {
    ByteBuffer in = ByteBuffer.wrap(contents.modelCache().getFirst());
    if (in.remaining() < FIXED || in.getInt() != MAGIC || in.getInt() != VERSION) {
      throw new IOException("the cache has the format of another version");
    }
    byte[] settings = new byte[SETTINGS];
    in.get(settings);
    if (!Arrays.equals(settings, settings(version))) {
      throw new IOException("the cache was made by another version, or for other vectors");
    }
    ByteBuffer values = ByteBuffer.wrap(contents.dataCache().getFirst());
    Subgraph graph = CachedGraph.read(in, values);
    List<Weights> weights = new ArrayList<>();
    MemorySegment data = MemorySegment.ofArray(contents.dataCache().getFirst());
    long at = values.position();
    for (int left = in.getInt(); left > 0; left--) {
      int operand = in.getInt();
      int rows = in.getInt();
      int columns = in.getInt();
      int bytes = in.getInt();
      PackedMatrix matrix = PackedMatrix.of(rows, columns, data.asSlice(at, bytes));
      weights.add(new Weights(operand, matrix, readParts(in)));
      at += bytes;
    }
    return new CachedProgram(graph, weights);
  }

  private static ExactParts readParts(ByteBuffer in) {
    int count = in.getInt();
    if (count == 0) {
      return null;
    }
    long largest = in.getLong();
    List<Integer> bounds = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      bounds.add(in.getInt());
    }
    return new ExactParts(bounds, largest);
  }
}
