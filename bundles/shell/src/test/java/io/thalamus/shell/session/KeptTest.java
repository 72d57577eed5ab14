// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.console.CommandException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands that each process begins with. */
class KeptTest {
  @TempDir Path storage;

  private Kept kept;

  @BeforeEach
  void open() {
    kept = Kept.in(storage);
  }

  private List<String> commands(boolean withBundles) {
    return Kept.in(storage).commands(withBundles).stream()
        .map(words -> String.join(" ", words))
        .toList();
  }

  @Test
  void theLastModelOfANameCounts() throws Exception {
    kept.load("a", List.of("load", "/a model.tflite", "--name", "a"));
    kept.load("b", List.of("load", "/b.tflite", "--name", "b"));
    kept.load("a", List.of("load", "/c.tflite", "--name", "a"));
    assertEquals(List.of("load /b.tflite --name b", "load /c.tflite --name a"), commands(false));
    kept.unload("b");
    kept.unload("none");
    assertEquals(List.of("load /c.tflite --name a"), commands(true));
  }

  @Test
  void settingsComeFirstAndTheLastValueCounts() throws Exception {
    kept.load("a", List.of("load", "/a.tflite"));
    kept.install("io.npu", true, List.of("npu"));
    kept.set("npu.rows", List.of("config", "npu.rows=8"));
    kept.set("npu.rows", List.of("config", "npu.rows=32"));
    assertEquals(List.of("config npu.rows=32", "load /a.tflite", "install npu"), commands(true));
    assertEquals(List.of("config npu.rows=32", "load /a.tflite"), commands(false));
    kept.reset("npu.rows");
    assertEquals(List.of("load /a.tflite"), commands(false));
  }

  @Test
  void anUninstallTakesAnInstallBackAndTheOtherWayRound() throws Exception {
    kept.install("io.npu", true, List.of("npu"));
    kept.update("io.npu", Path.of("/new.jar"));
    kept.update("io.npu", Path.of("/newer.jar"));
    assertEquals(List.of("install npu", "update io.npu /newer.jar"), commands(true));
    assertEquals(List.of(), commands(false));
    kept.uninstall("io.npu");
    assertEquals(List.of(), commands(true));
    kept.uninstall("io.simd");
    assertEquals(List.of("uninstall io.simd"), commands(true));
    kept.install("io.simd", true, List.of("simd"));
    assertEquals(List.of(), commands(true));
  }

  @Test
  void anotherJarTakesThePlaceOfTheUsualOne() throws Exception {
    kept.uninstall("io.simd");
    kept.install("io.simd", false, List.of("/my.jar", "--isolated"));
    assertEquals(List.of("uninstall io.simd", "install /my.jar --isolated"), commands(true));
    kept.uninstall("io.simd");
    assertEquals(List.of("uninstall io.simd"), commands(true));
  }

  @Test
  void aStorageThatCannotBeWrittenIsOneLine() throws Exception {
    Path file = Files.writeString(storage.resolve("file"), "");
    CommandException e = assertThrows(CommandException.class, () -> Kept.in(file).unload("a"));
    assertEquals(1, e.getMessage().lines().count());
    assertEquals(List.of(), Kept.in(file).commands(true));
  }
}
