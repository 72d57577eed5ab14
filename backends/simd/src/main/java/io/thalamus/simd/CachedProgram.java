// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.driver.cache.CacheContents;
import io.thalamus.driver.cache.CachedGraph;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.Subgraph;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.simd.compile.PackedWeights.Weights;
import io.thalamus.simd.kernel.PackedMatrix;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
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
 * and behind them the packed weights, each at a cache line, those of integers in a byte each.
 * Immutable.
 *
 * <p>Its reader knows from the caching engine that the device wrote these bytes.
 *
 * @param graph with all constants, or as {@link CachedGraph} reads it
 * @param weights in the order of the compiler
 */
record CachedProgram(Subgraph graph, List<Weights> weights) {
  private static final int MAGIC = 'T' | 'S' << 8 | 'M' << 16 | 'D' << 24;

  /** Changes with the layout of the files. */
  private static final int VERSION = 6;

  /** Bytes of a cache line: floats are used where they are. */
  private static final int ALIGNMENT = 64;

  private static final int FIXED = 2 * Integer.BYTES;

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
    List<Packed> packed = weights.stream().map(one -> Packed.of(one.matrix())).toList();
    ByteArrayOutputStream values = new ByteArrayOutputStream();
    Encoder out = new Encoder().int32(MAGIC).int32(VERSION).bytes(settings(version));
    CachedGraph.write(graph, onlyPacked(), out, values);
    write(packed, out);
    if (values.size() + packed.stream().mapToLong(Packed::room).sum() > most) {
      return Optional.empty();
    }
    for (Packed one : packed) {
      values.writeBytes(new byte[aligned(values.size()) - values.size()]);
      values.writeBytes(one.bytes());
    }
    return Optional.of(
        new CacheContents(
            List.of(out.toArray()), List.of(MemorySegment.ofArray(values.toByteArray()))));
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

  /**
   * Packed weights as they are stored.
   *
   * @param least what a byte of 0 stands for where each element is a byte
   * @param bytes narrow, or those of floats
   */
  private record Packed(boolean isNarrow, int least, byte[] bytes) {
    static Packed of(PackedMatrix matrix) {
      return matrix
          .narrow()
          .map(narrow -> new Packed(true, narrow.least(), narrow.bytes()))
          .orElseGet(() -> new Packed(false, 0, matrix.data().toArray(ValueLayout.JAVA_BYTE)));
    }

    long room() {
      return bytes.length + ALIGNMENT;
    }
  }

  private void write(List<Packed> packed, Encoder out) {
    out.int32(weights.size());
    for (int i = 0; i < weights.size(); i++) {
      Weights one = weights.get(i);
      out.int32(one.operand()).int32(one.matrix().rows()).int32(one.matrix().columns());
      out.int32(packed.get(i).bytes().length);
      out.bool(packed.get(i).isNarrow()).int32(packed.get(i).least());
      out.optional(Optional.ofNullable(one.parts()), (to, parts) -> to.list(parts, Encoder::int32));
    }
  }

  /**
   * Returns what stands in files that the device wrote itself, and that are untouched.
   *
   * @throws IOException if another version of the device wrote them, or for other vectors
   */
  static CachedProgram read(CacheContents contents, String version) throws IOException {
    byte[] file = contents.modelCache().getFirst();
    Decoder in = new Decoder(file);
    if (file.length < FIXED || in.int32() != MAGIC || in.int32() != VERSION) {
      throw new IOException("the cache has the format of another version");
    }
    if (!Arrays.equals(in.bytes(), settings(version))) {
      throw new IOException("the cache was made by another version, or for other vectors");
    }
    MemorySegment data = contents.dataCache().getFirst();
    ByteBuffer values = data.asByteBuffer();
    Subgraph graph = CachedGraph.read(in, values);
    List<Weights> weights = new ArrayList<>();
    int at = values.position();
    for (int left = in.int32(); left > 0; left--) {
      int operand = in.int32();
      int rows = in.int32();
      int columns = in.int32();
      int bytes = in.int32();
      boolean isNarrow = in.bool();
      int least = in.int32();
      at = aligned(at);
      PackedMatrix matrix =
          isNarrow
              ? PackedMatrix.of(rows, columns, least, data.asSlice(at, bytes))
              : PackedMatrix.of(rows, columns, data.asSlice(at, bytes));
      weights.add(
          new Weights(
              operand, matrix, in.optional(from -> from.list(Decoder::int32)).orElse(null)));
      at += bytes;
    }
    return new CachedProgram(graph, weights);
  }

  private static int aligned(int at) {
    return Math.ceilDiv(at, ALIGNMENT) * ALIGNMENT;
  }
}
