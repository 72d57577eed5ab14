// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.ModelFormatException;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tensorflow.lite.schema.BuiltinOperator;

/**
 * On any bytes the reader gives a model or one clear line: no other exception, no hang, no memory
 * out of proportion to the file.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class DamagedFileTest {
  /** Enough for a file of 60 KB with some of it dequantized; a wild vector would take gigabytes. */
  private static final long MOST_ALLOCATED = 32L << 20;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final TfliteReader reader = new TfliteReader();

  private static byte[] smallFile() {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.floats("x", 2, 3);
    int w = file.ints("shape", 3, 2);
    int t = file.floats("t", 3, 2);
    int y = file.floats("y", 3, 2);
    file.operator(BuiltinOperator.RESHAPE, new int[] {x, w}, t)
        .operator(BuiltinOperator.ADD, new int[] {t, t}, y)
        .graph(new int[] {x}, y);
    return file.build();
  }

  /** Returns true if a model came out; anything but a model or the one exception fails the test. */
  private boolean survives(SharedMemory memory, String what) {
    long before = THREADS.getCurrentThreadAllocatedBytes();
    boolean read;
    try {
      reader.read(memory);
      read = true;
    } catch (ModelFormatException e) {
      assertFalse(e.getMessage().contains("\n"), what + ": " + e.getMessage());
      read = false;
    } catch (RuntimeException | StackOverflowError e) {
      throw new AssertionError(what + " gave " + e, e);
    }
    long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
    assertTrue(allocated < MOST_ALLOCATED, what + " allocated " + allocated + " bytes");
    return read;
  }

  private String refusal(byte[] bytes) {
    try (SharedMemory memory = TestFiles.memory(bytes)) {
      return assertThrows(ModelFormatException.class, () -> reader.read(memory)).getMessage();
    }
  }

  @Test
  void emptyRandomAndForeignFiles() throws IOException {
    String foreign = "not a TensorFlow Lite file: the identifier TFL3 is missing at byte 4";
    assertEquals(foreign, refusal(new byte[0]));
    assertEquals(foreign, refusal(new byte[100_000]));
    byte[] random = new byte[100_000];
    new Random(7).nextBytes(random);
    assertEquals(foreign, refusal(random));
    byte[] picture = Files.readAllBytes(TestFiles.digits().resolveSibling("digit-0.png"));
    assertEquals(foreign, refusal(picture));
    byte[] marked = random.clone();
    System.arraycopy("TFL3".getBytes(), 0, marked, 4, 4);
    assertTrue(refusal(marked).startsWith("the file "), refusal(marked));
  }

  @Test
  void everyTruncationOfASmallFile() {
    byte[] bytes = smallFile();
    try (SharedMemory whole = TestFiles.memory(bytes)) {
      assertTrue(survives(whole, "the whole file"));
    }
    int read = 0;
    for (int length = 0; length < bytes.length; length++) {
      try (SharedMemory memory = TestFiles.memory(Arrays.copyOf(bytes, length))) {
        read += survives(memory, "the first " + length + " bytes") ? 1 : 0;
      }
    }
    // The last bytes of this file are strings that nothing needs; no more than those are spared.
    assertTrue(read < 32, read + " truncations gave a model");
  }

  @Test
  void truncationsOfARealFile() throws IOException {
    byte[] bytes = Files.readAllBytes(TestFiles.digits());
    for (int length = 1; length < bytes.length; length += length < 2000 ? 13 : 331) {
      try (SharedMemory memory = TestFiles.memory(Arrays.copyOf(bytes, length))) {
        assertFalse(survives(memory, "the first " + length + " bytes"));
      }
    }
  }

  @Test
  void mutationsOfASmallFile() {
    mutate(smallFile(), 20_000, 11);
  }

  @Test
  void mutationsOfARealFile() throws IOException {
    mutate(Files.readAllBytes(TestFiles.digits()), 5_000, 1);
  }

  private void mutate(byte[] bytes, int times, long seed) {
    System.out.println(times + " mutations with seed " + seed);
    Random random = new Random(seed);
    int read = 0;
    try (SharedMemory memory = TestFiles.memory(bytes)) {
      for (int i = 0; i < times; i++) {
        int[] places = new int[1 + random.nextInt(4)];
        for (int j = 0; j < places.length; j++) {
          places[j] = random.nextInt(bytes.length);
          memory.segment().set(ValueLayout.JAVA_BYTE, places[j], value(random));
        }
        read +=
            survives(
                    memory, "mutation " + i + " of seed " + seed + " at " + Arrays.toString(places))
                ? 1
                : 0;
        for (int place : places) {
          memory.segment().set(ValueLayout.JAVA_BYTE, place, bytes[place]);
        }
      }
    }
    System.out.println(read + " of " + times + " mutations still gave a model");
    assertTrue(read < times, "no mutation did any harm");
  }

  /** Any byte, and more often those that make offsets and lengths extreme. */
  private static byte value(Random random) {
    byte[] extremes = {0, 1, -1, 0x7f, (byte) 0x80};
    return random.nextBoolean()
        ? extremes[random.nextInt(extremes.length)]
        : (byte) random.nextInt();
  }

  /** Tables may share bytes: a file of tensors that all have the same long shape is small. */
  @Test
  void sharedVectorsAreCountedEachTime() {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.floats("x", new int[20_000]);
    file.repeatLastTensor(30_000);
    file.graph(new int[] {x}, x);
    String message = refusal(file.build());
    assertTrue(message.contains("describes more than it can hold"), message);
  }

  /** Found by fuzzing: a name is text of anybody, and a message stays one line. */
  @Test
  void aNameOfSeveralLinesIsNoReasonForSeveral() {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.floats("x\n\r\u0007", 2);
    int y = file.floats("y\nz", 2);
    file.operator(BuiltinOperator.HASHTABLE_SIZE, new int[] {x}, y).graph(new int[] {x}, y);
    ModelFormatException refused =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file));
    assertTrue(refused.getMessage().contains("'y?z'"), refused.getMessage());
    assertEquals(1, refused.getMessage().lines().count());
  }
}
