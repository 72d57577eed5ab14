// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Elements;
import io.thalamus.model.Model;
import io.thalamus.runtime.ModelLoaderTest.LetterReader;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A model file that is overwritten in place, with as many bytes, between its loading and its first
 * compilation, and processes that share a cache: each answers with the bytes that it has loaded.
 */
class OverwrittenModelTest {
  @TempDir private Path directory;

  /** Stored programs are the constants that devices have read: a wrong one is a wrong answer. */
  private static final CachingDevice.Vault VAULT =
      new CachingDevice.Vault() {
        @Override
        public long put(Model model) {
          SharedMemory file = model.pools().getFirst();
          return (long) Elements.FLOAT32.getFloat(file.segment(), 1);
        }

        @Override
        public Model get(long number) {
          byte[] file = ModelLoaderTest.letter(number);
          SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, file.length);
          memory.segment().copyFrom(MemorySegment.ofArray(file));
          return LetterReader.model(memory);
        }
      };

  /** Loads a file, overwrites it where a number is given, compiles it with a cache, and answers. */
  public static void main(String[] arguments) throws Exception {
    Path file = Path.of(arguments[0]);
    CachingDevice device =
        new CachingDevice(
            LimitedDevice.info("test-a", DeviceType.ACCELERATOR, 0.5)
                .cacheNeeds(new CacheNeeds(1, 0))
                .build(),
            (graph, operation) -> true,
            VAULT);
    try (TestRuntime runtime = TestRuntime.of(device)) {
      runtime.loader.addReader(new LetterReader());
      try (LoadedModel model = runtime.networks().load(file)) {
        if (arguments.length == 3) {
          Files.write(file, ModelLoaderTest.letter(Float.parseFloat(arguments[2])));
        }
        CompilationOptions options =
            CompilationOptions.DEFAULT.with(
                new CacheOptions(Path.of(arguments[1]), model.token(), ""));
        try (Compilation compilation = runtime.networks().compile(model.model(), options)) {
          System.out.println(
              compilation.caching().getFirst().origin()
                  + " "
                  + ModelLoaderTest.compute(compilation));
        }
      }
    }
  }

  private String answer(Path file, String... change) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx128m",
                "-cp",
                System.getProperty("java.class.path"),
                OverwrittenModelTest.class.getName(),
                file.toString(),
                directory.resolve("cache").toString()));
    command.addAll(List.of(change));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    return new String(process.getInputStream().readAllBytes()).strip();
  }

  @Test
  void laterProcessesAnswerWithTheBytesThatTheyLoad() throws Exception {
    Path file = Files.write(directory.resolve("letter"), ModelLoaderTest.letter(2));
    assertEquals("STORED 2.0", answer(file, "3"));
    assertEquals("STORED 3.0", answer(file));
    Files.write(file, ModelLoaderTest.letter(2));
    assertEquals("RESTORED 2.0", answer(file));
  }
}
