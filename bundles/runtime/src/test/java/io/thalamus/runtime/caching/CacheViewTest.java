// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Check.State;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.CacheToken;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.Bursts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The view that people get of stored compilations. */
class CacheViewTest {
  @TempDir Path directory;

  private final CachingDevice device = CachingDevice.of("a", 1, 1);
  private final TestRuntime runtime = TestRuntime.of(device, LimitedDevice.cpu());
  private final CompilationCache view = runtime.storedCompilations();

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, device.open());
  }

  private CompilationOptions options() {
    return CompilationOptions.DEFAULT.with(
        new CacheOptions(directory, CacheToken.of(new byte[CacheToken.SIZE]), "m.tflite"));
  }

  private void compile(CompilationOptions options) throws Exception {
    runtime.networks().compile(Graphs.addThenMul(), options).close();
  }

  private List<String> why(CompilationOptions options) throws Exception {
    List<Forecast> forecasts = view.why(Graphs.addThenMul(), options);
    assertEquals(1, forecasts.size());
    assertEquals("a", forecasts.getFirst().device());
    assertEquals(forecasts.getFirst().isStored(), forecasts.getFirst().reasons().isEmpty());
    return forecasts.getFirst().reasons();
  }

  @Test
  void anEntryTellsWhatItIs() throws Exception {
    assertEquals(List.of(), view.entries(directory.resolve("none")));
    compile(options());
    List<Entry> entries = view.entries(directory);
    assertEquals(1, entries.size());
    Entry entry = entries.getFirst();
    assertEquals("m.tflite", entry.label());
    assertEquals("the whole model", entry.step());
    assertEquals("test-a", entry.device());
    assertEquals("1", entry.version());
    assertEquals(2, entry.files());
    assertEquals(
        Files.size(directory.resolve(entry.name() + "10"))
            + Files.size(directory.resolve(entry.name() + "20")),
        entry.bytes());
    assertEquals(false, entry.isBeingWritten());
  }

  @Test
  void verifyingOpensWhatADeviceHereWouldLookFor() throws Exception {
    compile(options());
    assertEquals(State.GOOD, view.verify(directory).getFirst().state());
    assertEquals(0, device.open());
    device.withStaleness("it could be faster");
    CompilationCache.Check stale = view.verify(directory).getFirst();
    assertEquals(State.STALE, stale.state());
    assertEquals("it could be faster", stale.reason());
    Forecast forecast = view.why(Graphs.addThenMul(), options()).getFirst();
    assertTrue(forecast.isStored());
    assertEquals(List.of("it could be faster"), forecast.reasons());
    Path file = directory.resolve(view.entries(directory).getFirst().name() + "10");
    byte[] content = Files.readAllBytes(file);
    content[3] ^= 1;
    Files.write(file, content);
    CompilationCache.Check bad = view.verify(directory).getFirst();
    assertEquals(State.BAD, bad.state());
    assertTrue(bad.reason().contains("the file is damaged"), bad.reason());
    Forecast refused = view.why(Graphs.addThenMul(), options()).getFirst();
    assertFalse(refused.isStored());
    assertTrue(refused.reasons().getFirst().contains("the file is damaged"));
    runtime.code = new byte[] {9};
    CompilationCache.Check old = view.verify(directory).getFirst();
    assertEquals(State.UNUSED, old.state());
    assertEquals("another build of the device, of the runtime, or of what they use", old.reason());
    runtime.remove(device);
    assertEquals("test-a is not here", view.verify(directory).getFirst().reason());
  }

  @Test
  void whyNamesThePartThatChanged() throws Exception {
    assertEquals(List.of("nothing is stored for a"), why(options()));
    compile(options());
    assertEquals(List.of(), why(options()));
    assertEquals(
        List.of("another priority: HIGH, stored is MEDIUM"), why(options().with(Priority.HIGH)));
    runtime.code = new byte[] {9};
    assertEquals(
        List.of("another build of the device, of the runtime, or of what they use"),
        why(options()));
    runtime.code = new byte[] {1};
    Files.delete(directory.resolve(view.entries(directory).getFirst().name() + "20"));
    assertEquals(List.of("some of its files are missing"), why(options()));
  }

  @Test
  void whyTellsOfOtherPartitionsAndOfDevicesThatDoNotCache() throws Exception {
    compile(options());
    LimitedDevice multiplier = LimitedDevice.of("m", 0.1, OperationCode.MUL);
    runtime.add(multiplier);
    List<Forecast> forecasts = view.why(Graphs.addThenMul(), options());
    assertEquals("a", forecasts.get(0).device());
    assertTrue(
        forecasts.get(0).reasons().contains("another part of the model: 0:0, stored is all"),
        forecasts.toString());
    assertEquals(List.of("m does not cache"), forecasts.get(1).reasons());
  }

  @Test
  void withoutACachingDirectoryThereIsNothingToTell() {
    NeuralNetworksException refused =
        assertThrows(
            NeuralNetworksException.class,
            () -> view.why(Graphs.addThenMul(), CompilationOptions.DEFAULT));
    assertEquals(ResultCode.BAD_DATA, refused.code());
  }

  @Test
  void collectingSaysWhatWent() throws Exception {
    compile(options());
    compile(options().with(Priority.LOW));
    List<Entry> before = view.entries(directory);
    assertEquals(2, before.size());
    assertEquals(List.of(), view.collect(directory, view.quotaBytes()));
    assertEquals(2, view.collect(directory, 0).size());
    assertEquals(List.of(), view.entries(directory));
  }

  @Test
  void forgettingTakesTheStepsOfThePlanOnly() throws Exception {
    compile(options());
    compile(options().with(Priority.LOW));
    assertEquals(1, view.forget(Graphs.addThenMul(), options()));
    assertEquals(0, view.forget(Graphs.addThenMul(), options()));
    assertEquals(List.of("another priority: MEDIUM, stored is LOW"), why(options()));
    assertEquals(List.of(), why(options().with(Priority.LOW)));
  }

  @Test
  void theQuotaIsKeptWhenSomethingIsAdded() throws Exception {
    compile(options());
    // The three entries have 144, 2144 and 4144 bytes: the last one fits alone only.
    StepCache tight = new StepCache(runtime.registry, any -> new byte[] {1}, 4200);
    try (tight;
        io.thalamus.runtime.compilation.Compiler compiler =
            new io.thalamus.runtime.compilation.Compiler(
                runtime.registry,
                runtime.policies,
                runtime.threads,
                TestRuntime.LENIENT,
                runtime.measurements,
                tight,
                new Bursts(runtime.burstService))) {
      for (Priority priority : List.of(Priority.LOW, Priority.HIGH)) {
        compiler
            .compile(
                Graphs.addThenMul(),
                options().with(priority),
                CompilationLabel.PLANNING,
                closed -> {})
            .close();
      }
    }
    assertEquals(1, view.entries(directory).size());
    assertEquals(List.of(), why(options().with(Priority.HIGH)));
  }
}
