// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.driver.StaticGraph;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.kernel.Extent;
import io.thalamus.x86.kernel.Function;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The second line of defence: files that the caching engine vouched for, and that are wrong. */
class CachedProgramTest {
  private static final byte[] SETTINGS = new byte[32];
  private static final int ROUNDS = 20_000;

  private X86Device device;
  private TestGraph graph;
  private CachedProgram cached;

  @BeforeEach
  void compile() throws Exception {
    device = new X86Device("1.0.0", 1);
    graph = new TestGraph();
    int x = graph.input(TENSOR_FLOAT32, NONE, 1, 1024);
    int scale = graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(new float[1024]), 1, 1024);
    int y = graph.output(TENSOR_FLOAT32, NONE, 1, 1024);
    graph.operation(OperationCode.MUL, List.of(x, scale, graph.int32(0)), y);
    Model model = graph.model();
    Program program =
        device.compile(
            StaticGraph.resolve(model.main(), OperationCatalog.standard()),
            Level.AVX2,
            PrepareConfig.DEFAULT);
    cached = new CachedProgram(CachedArguments.alone(model.main()), program.alone(), SETTINGS);
    program.constants().close();
  }

  @AfterEach
  void close() {
    cached.program().constants().close();
    graph.close();
    device.close();
  }

  private CachedProgram read(byte[] file) throws IOException {
    return CachedProgram.read(file, cached.program().constants(), SETTINGS);
  }

  @Test
  void whatWasWrittenIsRead() throws Exception {
    Program read = read(cached.write().modelCache().getFirst()).program();
    assertArrayEquals(cached.program().calls(), read.calls());
    assertArrayEquals(cached.program().code(), read.code());
    assertEquals(cached.program().functions(), read.functions());
    assertEquals(cached.program().groups(), read.groups());
    assertEquals(cached.program().memory(), read.memory());
    assertArrayEquals(cached.program().large(), read.large());
    assertTrue(read.large().length > 0);
  }

  /** Each call of what is read stays within the memory that it gets, else nothing is read. */
  @Test
  void numbersThatLeadElsewhereAreRefused() {
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    byte[] right = cached.write().modelCache().getFirst();
    int refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
      byte[] wrong = right.clone();
      ByteBuffer buffer = ByteBuffer.wrap(wrong);
      // The header is compared as a whole; ranks of shapes are the driver library's.
      int at = 40 + random.nextInt(right.length - 40 - Integer.BYTES);
      switch (random.nextInt(3)) {
        case 0 -> buffer.putInt(at, random.nextInt() >> random.nextInt(31));
        case 1 -> buffer.put(at, (byte) random.nextInt());
        default -> buffer.putInt(at, -1);
      }
      try {
        assertWithin(read(wrong).program(), "seed " + seed + ", byte " + at);
      } catch (IOException e) {
        refused++;
      } catch (OutOfMemoryError e) {
        refused++;
      }
    }
    assertTrue(refused > 0);
  }

  private static void assertWithin(Program program, String what) {
    long constants = program.constants().bytes();
    for (int i = 0; i < program.functions().size(); i++) {
      long[] calls = program.calls();
      int at = i * Program.CALL;
      Function function = program.functions().get(i);
      assertTrue(calls[at] >= 0 && calls[at] < program.code().length, what);
      for (int k = 0; k < Function.ARGUMENTS; k++) {
        long room = program.isConstant(i, k) ? constants : program.memory();
        assertBytes(function.extent(k), calls[at + Program.BLOCKS], calls[at + 1 + k], room, what);
      }
    }
  }

  private static void assertBytes(Extent extent, long blocks, long from, long room, String what) {
    if (extent.first() != 0) {
      Math.addExact(from, extent.bytes(blocks));
      assertTrue(from >= 0 && from + extent.bytes(blocks) <= room, what);
    }
  }

  @Test
  void aCallBehindItsMemoryIsRefused() {
    long[] calls = cached.program().calls().clone();
    calls[2] = cached.program().memory();
    assertRefused(
        calls, cached.program().functions(), cached.program().large(), "call 0 is out of bounds");
  }

  /** What a run makes an address twice would lead anywhere. */
  @Test
  void aLargeConstantThatIsNoneIsRefused() {
    long[] calls = cached.program().calls();
    List<Function> functions = cached.program().functions();
    int large = cached.program().large()[0];
    String message = "a large constant is out of bounds";
    for (int number : new int[] {-1, 0, 1 + Function.WRITTEN, Program.BLOCKS, calls.length}) {
      assertRefused(calls, functions, new int[] {number}, message);
    }
    assertRefused(calls, functions, new int[] {large, large}, message);
    List<Function> ofConstants =
        functions.stream().map(one -> new Function(one.entry(), one.extents(), true)).toList();
    assertRefused(calls, ofConstants, new int[] {1 + Function.OTHER}, message);
  }

  private void assertRefused(long[] calls, List<Function> functions, int[] large, String message) {
    Program program = cached.program();
    Program wrong =
        new Program(
            program.code(),
            program.constants(),
            calls,
            functions,
            program.groups(),
            program.operations(),
            program.memory(),
            program.copied(),
            program.checks(),
            program.inputs(),
            program.outputs(),
            program.shapes(),
            large);
    IOException refused = assertThrows(IOException.class, () -> ProgramBounds.check(wrong));
    assertEquals(message, refused.getMessage());
  }
}
