// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.HardwareBuffer.Access;
import io.thalamus.memory.HardwareBufferDesc.Format;
import io.thalamus.memory.HardwareBufferDesc.Usage;
import java.io.BufferedReader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Buffers of every format, their handles in other processes, and their locks. */
class HardwareBufferTest {
  private static final Set<Usage> BOTH = EnumSet.of(Usage.CPU_READ, Usage.CPU_WRITE);
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(50);
  private static final int FRAMES = 300;

  /** Rows begin at multiples of 64 bytes; a BLOB has none. */
  @ParameterizedTest
  @CsvSource({
    "R8G8B8A8_UNORM, 100, 7, 2, 112, 6272, HARDWARE_BUFFER",
    "R8G8B8X8_UNORM, 16, 1, 1, 16, 64, HARDWARE_BUFFER",
    "R8G8B8_UNORM, 65, 2, 1, 128, 768, HARDWARE_BUFFER",
    "R16G16B16A16_FLOAT, 9, 3, 1, 16, 384, HARDWARE_BUFFER",
    "R8_UNORM, 1, 5, 1, 64, 320, HARDWARE_BUFFER",
    "BLOB, 1001, 1, 1, 1001, 1001, HARDWARE_BUFFER_BLOB"
  })
  void theAllocatorLaysOutRows(
      Format format, int width, int height, int layers, int stride, long size, MemoryKind kind) {
    HardwareBufferDesc desc = new HardwareBufferDesc(width, height, layers, format, BOTH);
    try (HardwareBuffer buffer = HardwareBuffer.allocate(desc)) {
      assertEquals(stride, buffer.stride());
      assertEquals(size, buffer.memory().size());
      assertEquals(kind, buffer.memory().kind());
      HardwareBufferHandle handle = buffer.describe();
      assertEquals(handle, HardwareBufferHandle.parse(handle.text()));
      assertEquals(desc, handle.desc());
    }
  }

  @Test
  void descriptionsThatMakeNoSenseAreRefused() {
    refused(() -> new HardwareBufferDesc(0, 1, 1, Format.R8_UNORM, BOTH));
    refused(() -> new HardwareBufferDesc(1, -1, 1, Format.R8_UNORM, BOTH));
    refused(() -> new HardwareBufferDesc(1, 1, 0, Format.R8_UNORM, BOTH));
    refused(() -> new HardwareBufferDesc(4, 2, 1, Format.BLOB, BOTH));
    refused(() -> new HardwareBufferDesc(4, 1, 2, Format.BLOB, BOTH));
    refused(() -> new HardwareBufferDesc(4, 1, 1, Format.BLOB, Set.of()));
  }

  private static void refused(Executable call) {
    assertThrows(IllegalArgumentException.class, call);
  }

  /** A handle comes from another process, which may be wrong about what it says. */
  @Test
  void handlesThatContradictThemselvesAreRefused() {
    try (HardwareBuffer buffer =
        HardwareBuffer.allocate(new HardwareBufferDesc(100, 2, 1, Format.R8G8B8A8_UNORM, BOTH))) {
      String good = buffer.describe().text();
      String[] words = good.split(" ");
      for (String bad : List.of("", "hardware_buffer/1", good.substring(1), "x " + good)) {
        refused(() -> HardwareBufferHandle.parse(bad));
      }
      for (int i = 1; i < words.length - 2; i++) {
        for (String value : List.of("-1", "0", "7", "2147483647", "nonsense")) {
          String[] changed = words.clone();
          changed[i] = value;
          // Narrower rows fit the stride as well; the offset is checked against the file.
          boolean isPossible = i == 1 && value.equals("7") || i == 7 && value.matches("\\d+");
          if (!isPossible) {
            refused(() -> HardwareBufferHandle.parse(String.join(" ", changed)));
          }
        }
      }
      String[] beyond = words.clone();
      beyond[7] = "4096";
      HardwareBufferHandle handle = HardwareBufferHandle.parse(String.join(" ", beyond));
      assertThrows(SharedMemoryException.class, () -> HardwareBuffer.open(handle));
    }
  }

  @Test
  void locksExcludeWritersAndNotReaders() {
    try (HardwareBuffer buffer = HardwareBuffer.allocate(HardwareBufferDesc.blob(64))) {
      HardwareBuffer.Lock one = buffer.lock(Access.READ, SHORT).orElseThrow();
      assertTrue(one.segment().isReadOnly());
      HardwareBuffer.Lock two = buffer.lock(Access.READ, SHORT).orElseThrow();
      assertEquals(Optional.empty(), buffer.lock(Access.WRITE, SHORT));
      two.close();
      two.close();
      assertEquals(Optional.empty(), buffer.lock(Access.WRITE, SHORT), "one still reads");
      one.close();
      try (HardwareBuffer.Lock alone = buffer.lock(Access.WRITE, SHORT).orElseThrow()) {
        assertFalse(alone.segment().isReadOnly());
        assertEquals(Optional.empty(), buffer.lock(Access.READ, SHORT));
        assertEquals(Optional.empty(), buffer.lock(Access.WRITE, SHORT));
      }
      buffer.lock(Access.READ, SHORT).orElseThrow().close();
    }
  }

  @Test
  void onlyDeclaredUsesAreLocked() {
    HardwareBufferDesc desc =
        new HardwareBufferDesc(64, 1, 1, Format.BLOB, EnumSet.of(Usage.CPU_READ));
    try (HardwareBuffer buffer = HardwareBuffer.allocate(desc)) {
      buffer.lock(Access.READ, SHORT).orElseThrow().close();
      refused(() -> buffer.lock(Access.WRITE, SHORT));
    }
  }

  /** The mapping of a closed buffer lasts until its locks end. */
  @Test
  void aLockKeepsTheBytes() {
    HardwareBuffer buffer = HardwareBuffer.allocate(HardwareBufferDesc.blob(64));
    HardwareBuffer.Lock lock = buffer.lock(Access.WRITE, SHORT).orElseThrow();
    buffer.close();
    lock.segment().set(ValueLayout.JAVA_BYTE, 63, (byte) 1);
    lock.close();
    assertThrows(IllegalStateException.class, () -> buffer.lock(Access.READ, SHORT));
  }

  /** Each frame has one number in all of its pixels, however the processes meet. */
  @Test
  void framesOfAnotherProcessAreNeverTorn() throws Exception {
    HardwareBufferDesc desc = new HardwareBufferDesc(100, 50, 2, Format.R8G8B8A8_UNORM, BOTH);
    try (HardwareBuffer buffer = HardwareBuffer.allocate(desc)) {
      Process producer =
          JavaProcess.of(List.of(), Producer.class, buffer.describe().text(), FRAMES)
              .inheritIO()
              .start();
      int frame = 0;
      while (frame < FRAMES) {
        try (HardwareBuffer.Lock lock = buffer.lock(Access.READ, LONG).orElseThrow()) {
          MemorySegment bytes = lock.segment();
          int number = bytes.get(ValueLayout.JAVA_INT, 0);
          for (long at = 0; at < bytes.byteSize(); at += Integer.BYTES) {
            assertEquals(number, bytes.get(ValueLayout.JAVA_INT, at), "at " + at);
          }
          assertTrue(number >= frame, "frames go on");
          frame = number;
        }
      }
      assertTrue(producer.waitFor(60, TimeUnit.SECONDS));
      assertEquals(0, producer.exitValue());
    }
  }

  /** The other process: writes frames, each in one lock. */
  static final class Producer {
    public static void main(String[] args) {
      try (HardwareBuffer buffer = HardwareBuffer.open(HardwareBufferHandle.parse(args[0]))) {
        for (int frame = 1; frame <= Integer.parseInt(args[1]); frame++) {
          try (HardwareBuffer.Lock lock = buffer.lock(Access.WRITE, LONG).orElseThrow()) {
            for (long at = 0; at < lock.segment().byteSize(); at += Integer.BYTES) {
              lock.segment().set(ValueLayout.JAVA_INT, at, frame);
            }
          }
        }
      }
    }
  }

  @Test
  void aKilledProcessGivesItsLockBack() throws Exception {
    try (HardwareBuffer buffer = HardwareBuffer.allocate(HardwareBufferDesc.blob(64))) {
      Process holder =
          JavaProcess.of(List.of(), Holder.class, buffer.describe().text())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      try (BufferedReader said = holder.inputReader()) {
        assertEquals("locked", said.readLine());
        assertEquals(Optional.empty(), buffer.lock(Access.READ, SHORT));
        holder.destroyForcibly().waitFor();
        buffer.lock(Access.WRITE, LONG).orElseThrow().close();
      } finally {
        holder.destroyForcibly();
      }
    }
  }

  /** The other process: holds its lock until it is killed. */
  static final class Holder {
    public static void main(String[] args) throws InterruptedException {
      try (HardwareBuffer buffer = HardwareBuffer.open(HardwareBufferHandle.parse(args[0]));
          HardwareBuffer.Lock _ = buffer.lock(Access.WRITE, LONG).orElseThrow()) {
        System.out.println("locked");
        Thread.sleep(LONG);
      }
    }
  }
}
