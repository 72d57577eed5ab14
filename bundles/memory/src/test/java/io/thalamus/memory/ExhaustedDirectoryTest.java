// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Directories without room. A JVM of its own has a {@code /dev/shm} of 1 MiB and a temporary
 * directory of 8 MiB, in a mount namespace of its own; skipped if the system forbids that.
 */
class ExhaustedDirectoryTest {
  @TempDir Path temporary;
  @TempDir Path named;

  @BeforeEach
  void requireNamespaces() throws Exception {
    assumeTrue(
        run(List.of("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/dev/shm")).status() == 0,
        "this system lets no user mount a file system: not tried");
  }

  private record Ended(int status, List<String> lines) {}

  private static Ended run(List<String> command) throws Exception {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException e) {
      return new Ended(-1, List.of(e.getMessage()));
    }
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return new Ended(process.exitValue(), output.lines().toList());
  }

  private List<String> allocate(List<String> options, String... sizes) throws Exception {
    String mounts =
        "mount -t tmpfs -o size=1m none /dev/shm && mount -t tmpfs -o size=8m none \"$0\""
            + " && exec \"$@\"";
    List<String> command = new ArrayList<>(List.of("unshare", "-rm", "sh", "-c", mounts));
    command.add(temporary.toString());
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Djava.io.tmpdir=" + temporary);
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(Allocator.class.getName());
    command.addAll(List.of(sizes));
    Ended ended = run(command);
    assertEquals(0, ended.status(), () -> String.join("\n", ended.lines()));
    return ended.lines();
  }

  /** The other process: allocates memories of these sizes, all of which it writes. */
  static final class Allocator {
    public static void main(String[] sizes) throws Exception {
      List<SharedMemory> held = new ArrayList<>();
      for (String size : sizes) {
        try {
          SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, Long.parseLong(size));
          held.add(memory);
          Path file = Files.readSymbolicLink(memory.describe().file());
          memory.segment().fill((byte) 1);
          System.out.println(file.getParent());
        } catch (SharedMemoryException.Exhausted e) {
          System.out.println(e.getMessage());
        } catch (InternalError e) {
          System.out.println("broken: " + e.getMessage());
        }
      }
      held.forEach(SharedMemory::close);
    }
  }

  @Test
  void theTemporaryDirectoryIsNextAndThenMemoryIsExhausted() throws Exception {
    List<String> places = allocate(List.of(), "500000", "4000000", "6000000", "400000");
    assertEquals("/dev/shm", places.get(0));
    assertEquals(temporary.toString(), places.get(1));
    String refusal = places.get(2);
    assertTrue(
        refusal.startsWith("cannot allocate 6000000 bytes of shared memory (/dev/shm: only "),
        refusal);
    assertTrue(refusal.contains("; " + temporary + ": only "), refusal);
    assertEquals("/dev/shm", places.get(3), "what is small still finds room");
    assertEquals(4, places.size());
  }

  @Test
  void theDirectoryIsASetting() throws Exception {
    assertEquals(
        List.of(named.toString()),
        allocate(List.of("-D" + SharedMemory.DIRECTORY_PROPERTY + "=" + named), "4000000"));
  }

  @Test
  void aDirectoryThatIsMissingIsPassedOver() throws Exception {
    Path missing = named.resolve("missing");
    assertEquals(
        List.of(temporary.toString()),
        allocate(List.of("-D" + SharedMemory.DIRECTORY_PROPERTY + "=" + missing), "4000000"));
  }
}
