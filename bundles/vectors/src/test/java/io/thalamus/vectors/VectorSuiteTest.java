// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.vectors.AddDevice.Fault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class VectorSuiteTest {
  @TempDir Path root;

  @BeforeEach
  void fill() throws IOException {
    for (String folder : List.of("first", "second")) {
      Files.createDirectory(root.resolve(folder));
    }
    copy("cases/elementwise.json", "first/elementwise.json");
    copy("cases/loop.json", "second/loop.json");
    Files.writeString(
        root.resolve("INDEX.json"), "{\"first/elementwise.json\": {\"examples\": 5}}");
    Files.writeString(root.resolve("notes.txt"), "nnapi-vectors-1");
  }

  private void copy(String resource, String target) throws IOException {
    Files.copy(Cases.folder(resource), root.resolve(target));
  }

  private static SuiteReport run(VectorSuite suite, Fault fault) throws Exception {
    return suite.run(
        new DeviceTarget(new AddDevice(fault)), RunOptions.DEFAULT, VectorSuite.Listener.NONE);
  }

  @ParameterizedTest
  @CsvSource({"1", "3"})
  void countsOutcomes(int threads) throws Exception {
    List<Integer> counts = new ArrayList<>();
    List<String> told = new ArrayList<>();

    SuiteReport report =
        VectorSuite.of(root)
            .withThreads(threads)
            .run(
                new DeviceTarget(new AddDevice(Fault.WRONG_VALUE)),
                RunOptions.DEFAULT,
                (result, count) -> {
                  counts.add(count);
                  told.add(result.example());
                });

    assertEquals("3 passed, 2 failed, 1 skipped", report.summary());
    assertEquals(List.of(1, 2, 3, 4, 5, 6), counts);
    assertEquals(
        Set.of(
            "add_float",
            "add_float_large_constant",
            "add_zero_sized",
            "add_wrong_shapes",
            "sub_quant8",
            "while_forever"),
        Set.copyOf(told));
    assertEquals(
        "first/elementwise.json add_float: ADD: output 0[1,2] is 7.5, expected 7; 1 of 6 wrong",
        report.failures().getFirst().text());
    assertEquals(
        Set.of("device test-add does not support SUB TENSOR_QUANT8_ASYMM_SIGNED"),
        report.skipReasons().keySet());
  }

  @ParameterizedTest
  @CsvSource({
    "first/*, 5",
    "first/elementwise, 5",
    "elementwise.json, 5",
    "loop, 1",
    "add_*, 4",
    "'{sub_*,while_*}', 2",
    "**, 6"
  })
  void filters(String glob, int expected) throws Exception {
    assertEquals(
        expected,
        run(VectorSuite.of(root).with(VectorFilter.of(glob)), Fault.NONE).results().size());
  }

  @Test
  void saysThatAFilterLetsNothingThrough() {
    VectorSuite suite = VectorSuite.of(root).with(VectorFilter.of("nothing*"));

    VectorFormatException e =
        assertThrows(VectorFormatException.class, () -> run(suite, Fault.NONE));

    assertTrue(e.getMessage().contains("matches 'nothing*'"), e.getMessage());
  }

  @Test
  void runsOneFile() throws Exception {
    SuiteReport report = run(VectorSuite.of(root.resolve("second/loop.json")), Fault.NONE);

    assertEquals("1 passed, 0 failed, 0 skipped", report.summary());
    assertEquals("second/loop.json", report.results().getFirst().file());
  }

  @Test
  void aDamagedFileIsAFailureAmongOthers() throws Exception {
    for (String name : List.of("truncated", "unknown_key", "text", "empty", "array")) {
      copy("damaged/" + name + ".json", "second/" + name + ".json");
    }

    SuiteReport report = run(VectorSuite.of(root), Fault.NONE);

    // A well-formed array says nothing of this format: it is another kind of file.
    assertEquals("5 passed, 4 failed, 1 skipped", report.summary());
    assertEquals(
        Set.of(
            "second/truncated.json",
            "second/unknown_key.json",
            "second/text.json",
            "second/empty.json"),
        report.failures().stream().map(SuiteReport.Result::file).collect(Collectors.toSet()));
    assertTrue(
        report.failures().getLast().text().contains("unknown key 'colour'"),
        report.failures().getLast().text());
  }

  @Test
  void refusesFoldersWithoutVectors() throws Exception {
    Files.delete(root.resolve("first/elementwise.json"));
    Files.delete(root.resolve("second/loop.json"));

    VectorFormatException e =
        assertThrows(VectorFormatException.class, () -> run(VectorSuite.of(root), Fault.NONE));
    assertTrue(e.getMessage().contains("holds no file of the format nnapi-vectors-1"));
    assertThrows(
        NoSuchFileException.class, () -> run(VectorSuite.of(root.resolve("missing")), Fault.NONE));
  }

  @Test
  void usesThreadsOfItsOwnAndEndsThem() throws Exception {
    Set<Thread> threads = ConcurrentHashMap.newKeySet();
    Target target =
        model -> {
          threads.add(Thread.currentThread());
          throw new Target.Refusal(Target.Status.FAILED, "not here", null);
        };

    VectorSuite.of(root).withThreads(2).run(target, RunOptions.DEFAULT, VectorSuite.Listener.NONE);

    assertFalse(threads.isEmpty());
    for (Thread thread : threads) {
      assertTrue(thread.getName().startsWith("vectors-"), thread.getName());
      assertFalse(thread.isAlive());
    }
  }

  @Test
  void endsItsThreadsWhenInterrupted() throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    AtomicReference<Thread> worker = new AtomicReference<>();
    Target target =
        model -> {
          worker.set(Thread.currentThread());
          running.countDown();
          try {
            new CountDownLatch(1).await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          throw new Target.Refusal(Target.Status.FAILED, "interrupted", null);
        };
    AtomicReference<Exception> thrown = new AtomicReference<>();
    Thread caller =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    VectorSuite.of(root)
                        .withThreads(1)
                        .run(target, RunOptions.DEFAULT, VectorSuite.Listener.NONE);
                  } catch (Exception e) {
                    thrown.set(e);
                  }
                });
    running.await();

    caller.interrupt();
    caller.join();

    assertTrue(thrown.get() instanceof InterruptedException, () -> "threw " + thrown.get());
    assertFalse(worker.get().isAlive());
  }

  @Test
  void aThrownErrorIsAFailure() throws Exception {
    Target target =
        model -> {
          throw new StackOverflowError("a kernel");
        };

    SuiteReport report =
        VectorSuite.of(root).run(target, RunOptions.DEFAULT, VectorSuite.Listener.NONE);

    assertEquals("0 passed, 6 failed, 0 skipped", report.summary());
  }

  @Test
  void writesJUnitXml() throws Exception {
    Path file = root.resolve("report.xml");
    copy("damaged/text.json", "second/text.json");

    run(VectorSuite.of(root), Fault.WRONG_VALUE).writeJUnitXml(file);

    Element suites =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(file.toFile())
            .getDocumentElement();
    assertEquals("testsuites", suites.getTagName());
    assertEquals("7", suites.getAttribute("tests"));
    assertEquals("3", suites.getAttribute("failures"));
    assertEquals("1", suites.getAttribute("skipped"));
    assertEquals(3, suites.getElementsByTagName("testsuite").getLength());
    assertEquals(7, suites.getElementsByTagName("testcase").getLength());
    NodeList failures = suites.getElementsByTagName("failure");
    assertEquals(3, failures.getLength());
    assertTrue(((Element) failures.item(0)).getAttribute("message").contains("is 7.5, expected 7"));
  }
}
