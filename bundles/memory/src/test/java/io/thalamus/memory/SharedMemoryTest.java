// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

class SharedMemoryTest {
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource(value = MemoryKind.class, mode = Mode.EXCLUDE, names = "MMAP_FD")
  void allocatedMemoryIsZeroedAndWritable(MemoryKind kind) {
    try (SharedMemory memory = SharedMemory.allocate(kind, 10_000)) {
      assertEquals(kind, memory.kind());
      assertEquals(10_000, memory.size());
      assertFalse(memory.isReadOnly());
      for (long i = 0; i < memory.size(); i++) {
        assertEquals(0, memory.segment().get(ValueLayout.JAVA_BYTE, i));
      }
      memory.segment().set(INT, 9_996, 42);
      assertEquals(42, memory.segment().get(INT, 9_996));
    }
  }

  @Test
  void twoMappingsOfOneMemorySeeTheSameBytes() {
    try (SharedMemory one = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        SharedMemory other = SharedMemory.map(one.describe())) {
      one.segment().set(INT, 8, 7);
      assertEquals(7, other.segment().get(INT, 8));
      other.segment().set(INT, 12, 9);
      assertEquals(9, one.segment().get(INT, 12));
    }
  }

  @Test
  void anotherProcessMapsTheSameBytes() throws Exception {
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 4096)) {
      memory.segment().set(INT, 0, 20);
      Process child =
          JavaProcess.of(List.of(), Doubler.class, memory.describe().file(), memory.size())
              .inheritIO()
              .start();
      assertTrue(child.waitFor(60, TimeUnit.SECONDS));
      assertEquals(0, child.exitValue());
      assertEquals(40, memory.segment().get(INT, 0));
    }
  }

  /** The other process: doubles the first int of the memory it is informed of. */
  static final class Doubler {
    public static void main(String[] args) {
      SharedMemoryHandle handle =
          new SharedMemoryHandle(
              MemoryKind.ASHMEM, Path.of(args[0]), 0, Long.parseLong(args[1]), true);
      try (SharedMemory memory = SharedMemory.map(handle)) {
        memory.segment().set(INT, 0, 2 * memory.segment().get(INT, 0));
      }
    }
  }

  @Test
  void lentMemoryStaysMappedUntilTheLastLeaseIsReturned() {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 16);
    SharedMemory.Lease first = memory.lend();
    SharedMemory.Lease second = memory.lend();
    memory.close();
    first.close();
    first.close();
    memory.segment().set(INT, 0, 1);
    second.close();
    assertThrows(IllegalStateException.class, () -> memory.segment().set(INT, 0, 1));
    assertThrows(IllegalStateException.class, memory::lend);
  }

  @Test
  void listenersLearnOfTheCloseOnce() {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 16);
    List<SharedMemory> closed = new ArrayList<>();
    List<SharedMemory> others = new ArrayList<>();
    SharedMemory.CloseListener listener = closed::add;
    SharedMemory.CloseListener removed = others::add;
    assertTrue(memory.addCloseListener(listener));
    assertTrue(memory.addCloseListener(listener));
    assertTrue(memory.addCloseListener(removed));
    memory.removeCloseListener(removed);
    SharedMemory.Lease lease = memory.lend();
    memory.close();
    memory.close();
    assertEquals(List.of(memory), closed);
    assertEquals(List.of(), others);
    assertFalse(memory.addCloseListener(listener), "whoever lends closed memory is not called");
    lease.close();
    Reference.reachabilityFence(listener);
  }

  @Test
  void anonymousMemoryLeavesNoFileBehind() throws IOException {
    Set<String> before = files();
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 4096)) {
      assertNoNewNames(before);
      assertEquals(4096, memory.size());
    }
  }

  /**
   * What others allocate meanwhile has a name for a moment; a leftover would have it all the time.
   */
  private static void assertNoNewNames(Set<String> before) throws IOException {
    Set<String> named = files();
    named.removeAll(before);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!named.isEmpty() && System.nanoTime() < end) {
      named.retainAll(files());
    }
    assertEquals(Set.of(), named, "the file must have no name even while it is mapped");
  }

  private static Set<String> files() throws IOException {
    Path shm = Path.of("/dev/shm");
    if (!Files.isDirectory(shm)) {
      return new HashSet<>();
    }
    try (var list = Files.list(shm)) {
      return list.map(path -> path.getFileName().toString())
          .filter(name -> name.startsWith("thalamus-"))
          .collect(Collectors.toCollection(HashSet::new));
    }
  }

  @Test
  void aMappedFileIsReadOnlyAndHoldsItsBytes() throws IOException {
    Path file = Files.write(directory.resolve("weights"), new byte[] {1, 2, 3});
    try (SharedMemory memory = SharedMemory.map(file)) {
      assertEquals(MemoryKind.MMAP_FD, memory.kind());
      assertEquals(3, memory.size());
      assertTrue(memory.isReadOnly());
      assertEquals(3, memory.segment().get(ValueLayout.JAVA_BYTE, 2));
    }
  }

  @Test
  void aReadFileIsASnapshot() throws IOException {
    byte[] bytes = {1, 2, 3, 4};
    Path file = Files.write(directory.resolve("weights"), bytes);
    Set<String> before = files();
    try (SharedMemory memory = SharedMemory.read(file)) {
      assertEquals(MemoryKind.ASHMEM, memory.kind());
      assertTrue(memory.isReadOnly());
      assertNoNewNames(before);
      Files.write(file, new byte[] {9, 9, 9, 9});
      assertArrayEquals(bytes, memory.segment().toArray(ValueLayout.JAVA_BYTE));
      Files.write(file, new byte[0]);
      assertArrayEquals(bytes, memory.segment().toArray(ValueLayout.JAVA_BYTE));
      Files.delete(file);
      SharedMemoryHandle handle = memory.describe();
      assertEquals(handle, memory.describe(), "one copy serves all processes");
      assertFalse(handle.writable());
      try (SharedMemory other = SharedMemory.map(handle)) {
        assertArrayEquals(bytes, other.segment().toArray(ValueLayout.JAVA_BYTE));
        assertTrue(other.isReadOnly());
      }
    }
  }

  @Test
  void aFileOfManyChunksIsReadWhole() throws IOException {
    byte[] bytes = new byte[(5 << 20) + 7];
    new SplittableRandom(3).nextBytes(bytes);
    Path file = Files.write(directory.resolve("weights"), bytes);
    try (SharedMemory memory = SharedMemory.read(file);
        SharedMemory shared = SharedMemory.map(memory.describe())) {
      assertArrayEquals(bytes, memory.segment().toArray(ValueLayout.JAVA_BYTE));
      assertArrayEquals(bytes, shared.segment().toArray(ValueLayout.JAVA_BYTE));
    }
  }

  /** In a small JVM, the snapshot is a file of its own, which has no name either. */
  @Test
  void aFileThatIsLargeForTheJvmIsCopiedToTheDisk() throws Exception {
    byte[] bytes = new byte[6 << 20];
    new SplittableRandom(4).nextBytes(bytes);
    Path file = Files.write(directory.resolve("weights"), bytes);
    Path temporary = Files.createDirectory(directory.resolve("temporary"));
    Process child =
        JavaProcess.of(List.of("-Xmx16m", "-Djava.io.tmpdir=" + temporary), Reader.class, file)
            .redirectErrorStream(true)
            .start();
    String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(child.waitFor(60, TimeUnit.SECONDS));
    assertEquals("%d %s%n".formatted(checksum(bytes), temporary), output);
    try (var left = Files.list(temporary)) {
      assertEquals(0, left.count());
    }
  }

  /** The other process: reads a file, truncates it, and prints the checksum and the directory. */
  static final class Reader {
    public static void main(String[] args) throws IOException {
      Path file = Path.of(args[0]);
      try (SharedMemory memory = SharedMemory.read(file)) {
        Files.write(file, new byte[0]);
        CRC32 sum = new CRC32();
        sum.update(memory.segment().asByteBuffer());
        Path copy = Files.readSymbolicLink(memory.describe().file());
        System.out.printf("%d %s%n", sum.getValue(), copy.getParent());
      }
    }
  }

  private static long checksum(byte[] bytes) {
    CRC32 sum = new CRC32();
    sum.update(bytes);
    return sum.getValue();
  }

  @Test
  void aFileThatCannotBeReadIsRefusedWithTheReason() throws IOException {
    Path empty = Files.createFile(directory.resolve("empty"));
    Path missing = directory.resolve("missing");
    assertEquals(
        "cannot read " + empty + ": the file is empty",
        assertThrows(SharedMemoryException.class, () -> SharedMemory.read(empty)).getMessage());
    assertEquals(
        "cannot open " + missing + ": there is no such file",
        assertThrows(SharedMemoryException.class, () -> SharedMemory.read(missing)).getMessage());
    assertThrows(SharedMemoryException.class, () -> SharedMemory.read(directory));
  }

  @Test
  void whatCannotBeMappedIsRefusedWithTheReason() throws IOException {
    Path empty = Files.createFile(directory.resolve("empty"));
    Path missing = directory.resolve("missing");
    assertEquals(
        "cannot map " + empty + ": the file is empty",
        assertThrows(SharedMemoryException.class, () -> SharedMemory.map(empty)).getMessage());
    assertEquals(
        "cannot open " + missing + ": there is no such file",
        assertThrows(SharedMemoryException.class, () -> SharedMemory.map(missing)).getMessage());
    assertThrows(SharedMemoryException.class, () -> SharedMemory.map(directory));
    assertThrows(
        IllegalArgumentException.class, () -> SharedMemory.allocate(MemoryKind.MMAP_FD, 1));
  }

  @Test
  void aHandleOfMemoryThatIsGoneIsRefused() {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 16);
    SharedMemoryHandle handle = memory.describe();
    memory.close();
    assertThrows(SharedMemoryException.class, () -> SharedMemory.map(handle).close());
  }

  @Test
  void aHandleBeyondItsFileIsRefused() throws IOException {
    Path file = Files.write(directory.resolve("short"), new byte[10]);
    SharedMemoryHandle handle = new SharedMemoryHandle(MemoryKind.MMAP_FD, file, 4, 7, false);
    assertThrows(SharedMemoryException.class, () -> SharedMemory.map(handle));
  }
}
