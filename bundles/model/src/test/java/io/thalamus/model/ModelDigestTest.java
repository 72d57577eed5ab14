// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Quantization.PerChannel;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Digests of models: the same for the same model, and another for any other. */
class ModelDigestTest {
  /** More than one chunk, and no multiple of it. */
  private static final int LARGE = (1 << 20) + 4;

  private final SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, LARGE + 64);

  @AfterEach
  void close() {
    pool.close();
  }

  /** The parts of a model, each of which a test changes alone. */
  private static final class Parts {
    private OperandCode type = OperandCode.TENSOR_FLOAT32;
    private Shape shape = Shape.of(1, LARGE / 4);
    private Quantization quantization = Quantization.NONE;
    private long offset;
    private long length = LARGE;
    private byte[] copy = {1, 2, 3, 4};
    private OperationCode operation = OperationCode.ADD;
    private boolean isSwapped;
    private boolean isRelaxed;
    private boolean hasSecondGraph;
  }

  private Model model(Consumer<Parts> change) {
    Parts parts = new Parts();
    change.accept(parts);
    SubgraphBuilder graph = new SubgraphBuilder();
    int in = graph.input("in", parts.type, parts.shape, parts.quantization);
    int large =
        graph.constant(
            "large",
            OperandCode.TENSOR_FLOAT32,
            Shape.of((int) (parts.length / 4)),
            Quantization.NONE,
            new Lifetime.ConstantReference(pool, parts.offset, parts.length));
    int small =
        graph.constant(
            "small",
            OperandCode.TENSOR_INT32,
            Shape.of(1),
            Quantization.NONE,
            new Lifetime.ConstantCopy(parts.copy));
    int out = graph.output("out", parts.type, parts.shape, parts.quantization);
    graph.operation(
        parts.operation,
        parts.isSwapped ? List.of(large, in, small) : List.of(in, large, small),
        List.of(out));
    Subgraph main = graph.build();
    return new Model(main, parts.hasSecondGraph ? List.of(main) : List.of(), parts.isRelaxed);
  }

  @Test
  void everyPartCounts() {
    everyPartCounts(ModelDigest::of);
    everyPartCounts(ModelDigest::fingerprint);
  }

  private void everyPartCounts(Function<Model, byte[]> digest) {
    List<Consumer<Parts>> changes =
        List.of(
            _ -> {},
            parts -> parts.type = OperandCode.TENSOR_QUANT8_ASYMM,
            parts -> parts.shape = Shape.of(LARGE / 4, 1),
            parts -> parts.quantization = Quantization.of(0.5f, 0),
            parts -> parts.quantization = Quantization.of(0.5f, 1),
            parts -> parts.quantization = new PerChannel(0, new float[] {0.5f}),
            parts -> parts.quantization = new PerChannel(1, new float[] {0.5f}),
            parts -> parts.quantization = new PerChannel(1, new float[] {0.25f}),
            parts -> parts.length = LARGE - 4,
            parts -> parts.copy = new byte[] {1, 2, 3, 5},
            parts -> parts.operation = OperationCode.MUL,
            parts -> parts.isSwapped = true,
            parts -> parts.isRelaxed = true,
            parts -> parts.hasSecondGraph = true);
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < changes.size(); i++) {
      byte[] of = digest.apply(model(changes.get(i)));
      assertEquals(32, of.length);
      assertArrayEquals(of, digest.apply(model(changes.get(i))), "change " + i);
      assertTrue(seen.add(HexFormat.of().formatHex(of)), "change " + i + " is not seen");
    }
  }

  /** The first and last byte of each chunk, and one between. */
  @Test
  void everyByteOfALargeConstantCounts() {
    for (Function<Model, byte[]> digest :
        List.<Function<Model, byte[]>>of(ModelDigest::of, ModelDigest::fingerprint)) {
      Set<String> seen = new HashSet<>();
      seen.add(HexFormat.of().formatHex(digest.apply(model(_ -> {}))));
      for (int at : new int[] {0, 12_345, (1 << 20) - 1, 1 << 20, LARGE - 1}) {
        byte[] bytes = pool.segment().asSlice(at, 1).toArray(ValueLayout.JAVA_BYTE);
        pool.segment().set(ValueLayout.JAVA_BYTE, at, (byte) (bytes[0] ^ 1));
        assertTrue(seen.add(HexFormat.of().formatHex(digest.apply(model(_ -> {})))), "byte " + at);
        pool.segment().set(ValueLayout.JAVA_BYTE, at, bytes[0]);
      }
    }
  }

  /** The place in a pool is no part of the model. */
  @Test
  void theSameConstantsElsewhereAreTheSame() {
    assertArrayEquals(ModelDigest.of(model(_ -> {})), ModelDigest.of(model(p -> p.offset = 64)));
    assertArrayEquals(
        ModelDigest.fingerprint(model(_ -> {})),
        ModelDigest.fingerprint(model(p -> p.offset = 64)));
  }

  @Test
  void closedMemoryIsSaid() {
    Model model = model(_ -> {});
    pool.close();
    assertThrows(IllegalStateException.class, () -> ModelDigest.of(model));
  }
}
