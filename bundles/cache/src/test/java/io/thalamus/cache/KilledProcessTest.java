// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two processes write; they are killed in the middle, again and again. */
class KilledProcessTest {
  private static final int ROUNDS = 6;
  private static final int STRIDE = 1_000_000;

  /** The number of turns after which a writer ends by itself if nobody kills it. */
  private static final int MOST = 20_000;

  @TempDir Path directory;

  /** Remembers, and says so, until it is killed. */
  static final class Writer {
    private Writer() {}

    public static void main(String[] args) throws IOException {
      int first = Integer.parseInt(args[1]);
      byte[] value = new byte[5000];
      try (FileCacheEngine engine = new FileCacheEngine(Path.of(args[0]), "test")) {
        BlobStore blobs = engine.blobs("1", BlobLimits.of(100, 10_000, 100_000));
        for (int i = first; i < first + MOST; i++) {
          engine.remember("a-device", token(i), engine.code(files(i)));
          new Random(i).nextBytes(value);
          blobs.set(bytes(i % 50), value);
          System.out.println(i);
        }
      }
    }
  }

  private static byte[] bytes(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  private static CacheToken token(int number) {
    return CacheToken.of(ByteBuffer.allocate(32).putInt(number).array());
  }

  private static List<MemorySegment> files(int number) {
    return List.of(MemorySegment.ofArray(ByteBuffer.allocate(32).putInt(~number).array()));
  }

  @Test
  void nothingThatWasSaidToBeRememberedIsLost() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed " + seed);
    Random random = new Random(seed);
    List<Integer> said = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      List<Path> outputs = List.of(directory.resolve("a" + round), directory.resolve("b" + round));
      List<Process> processes = new ArrayList<>();
      try {
        for (int i = 0; i < outputs.size(); i++) {
          processes.add(start((2 * round + i) * STRIDE, outputs.get(i)));
        }
        int lines = 1 + random.nextInt(40);
        for (int i = 0; i < outputs.size(); i++) {
          while (said(outputs.get(i)).size() < lines) {
            assertTrue(processes.get(i).isAlive(), "a writer failed");
            Thread.sleep(1);
          }
        }
      } finally {
        for (Process process : processes) {
          process.destroyForcibly().waitFor();
        }
      }
      for (Path output : outputs) {
        said.addAll(said(output));
      }
      check(said);
    }
  }

  /** Returns the output of a writer; its last line may be cut short. */
  private static List<Integer> said(Path output) throws IOException {
    String text = Files.readString(output);
    return text.substring(0, text.lastIndexOf('\n') + 1).lines().map(Integer::valueOf).toList();
  }

  private void check(List<Integer> said) {
    try (FileCacheEngine engine = new FileCacheEngine(directory.resolve("storage"), "test")) {
      // Some more than were said may be there: up to two a round.
      int kept = Math.min(said.size(), FileCacheEngine.CAPACITY - 2 * ROUNDS * 2);
      for (int number : said.subList(said.size() - kept, said.size())) {
        assertTrue(
            engine.isRemembered("a-device", token(number), files(number)), "entry " + number);
      }
      BlobStore blobs = engine.blobs("1", BlobLimits.of(100, 10_000, 100_000));
      int found = 0;
      for (int i = 0; i < 50; i++) {
        byte[] value = blobs.get(bytes(i)).orElse(null);
        if (value != null) {
          assertEquals(5000, value.length);
          found++;
        }
      }
      assertTrue(found > 0, "no blob is left");
    }
  }

  private Process start(int first, Path output) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx64m",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            Writer.class.getName(),
            directory.resolve("storage").toString(),
            Integer.toString(first))
        .redirectOutput(output.toFile())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }
}
