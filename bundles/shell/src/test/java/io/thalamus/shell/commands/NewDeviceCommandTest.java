// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.console.CommandException;
import io.thalamus.shell.bundles.DeviceProject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NewDeviceCommandTest {
  private static final Path EXAMPLE =
      Path.of(System.getProperty("thalamus.root"), "docs/examples/device");

  @TempDir Path folder;

  private Terminal terminal;

  @BeforeEach
  void open() throws IOException {
    Map<String, String> files = read(EXAMPLE);
    files.keySet().removeIf(name -> name.startsWith("target/"));
    terminal =
        new Terminal(
            folder, new NewDeviceCommand(() -> new DeviceProject(files), () -> Set.of("cpu")));
  }

  @AfterEach
  void close() {
    terminal.close();
  }

  /** Names with slashes, seen from the folder, to texts. */
  private static Map<String, String> read(Path folder) throws IOException {
    Map<String, String> files = new TreeMap<>();
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        files.put(folder.relativize(file).toString(), Files.readString(file));
      }
    }
    return files;
  }

  private List<Path> present() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.toList();
    }
  }

  @Test
  void nothingOfTheExamplesNameIsLeft() throws Exception {
    String text = terminal.type("nn:new-device abacus a/b");
    Map<String, String> files = read(folder.resolve("a/b"));
    assertEquals(
        List.of(
            "wrote %s files of the device abacus to a/b".formatted(files.size()),
            "",
            "  mvn -f a/b verify",
            "  nn:install a/b/target/abacus-1.0.0.jar",
            "  nn:certify abacus"),
        text.lines().toList());
    files.forEach(
        (name, content) -> {
          assertFalse(name.toLowerCase().contains("template"), name);
          assertFalse(content.toLowerCase().contains("template"), name);
        });
    String source = files.get("src/main/java/com/example/abacus/AbacusDevice.java");
    assertTrue(source.contains("package com.example.abacus;\n"), source);
    assertTrue(source.contains("@DeviceDriver(device = \"abacus\""), source);
    assertTrue(source.contains("class AbacusDevice extends"), source);
    assertTrue(files.get("pom.xml").contains("<artifactId>abacus</artifactId>"));
    assertTrue(files.get("bnd.bnd").startsWith("Bundle-Name: Abacus device\n"));
  }

  @Test
  void whatIsToBeTypedNextIsQuotedWhereTheFolderWantsIt() throws Exception {
    List<String> lines = terminal.type("nn:new-device abacus 'a b/it'").lines().toList();
    assertEquals("  mvn -f 'a b/it' verify", lines.get(2));
    assertEquals("  nn:install 'a b/it/target/abacus-1.0.0.jar'", lines.get(3));
  }

  @Test
  void anEmptyFolderIsTaken() throws Exception {
    Files.createDirectory(folder.resolve("empty"));
    String json = terminal.type("nn:new-device abacus empty/ --json");
    int files = read(folder.resolve("empty")).size();
    assertEquals(
        "{\"device\":\"abacus\",\"folder\":\"empty/\",\"files\":%s,\"jar\":\"%s\"}"
            .formatted(files, "empty/target/abacus-1.0.0.jar"),
        json);
  }

  @Test
  void namesThatCannotBeAreRefusedBeforeAnythingIsWritten() throws Exception {
    for (String name : List.of("Abacus", "my-device", "1st", "a.b", "../x", "a".repeat(41))) {
      assertFails(
          "'"
              + name
              + "' cannot be a device's name; one is up to 40 lower-case letters and digits, a"
              + " letter first",
          "nn:new-device " + name + " d");
    }
    for (String name : List.of("int", "new", "true")) {
      assertFails(
          "'"
              + name
              + "' cannot be a device's name: Java keeps the word, and no package can have it",
          "nn:new-device " + name + " d");
    }
    assertFails("there is a device cpu already; taken are cpu", "nn:new-device cpu d");
    assertEquals(List.of(), present());
  }

  @Test
  void placesThatCannotBeWrittenStayAsTheyAre() throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "mine");
    Path full = Files.createDirectory(folder.resolve("full"));
    Files.writeString(full.resolve("mine"), "mine");
    assertFails(
        full + " exists and is not empty; name a folder that does not exist yet",
        "nn:new-device abacus full");
    assertFails(
        "cannot write " + file + ": there is a file of that name", "nn:new-device abacus file");
    assertFails(
        "cannot write " + file + ": there is a file of that name",
        "nn:new-device abacus file/in/it");
    // The folder of the package cannot be made: by then other files stand.
    Path half = folder.resolve("half");
    Terminal broken =
        new Terminal(
            folder,
            new NewDeviceCommand(
                () -> new DeviceProject(Map.of("a", "", "b/c", "", "b/c/d", "")), Set::of));
    try (broken) {
      CommandException e =
          assertThrows(CommandException.class, () -> broken.type("nn:new-device abacus half/way"));
      assertEquals(
          "cannot write " + half.resolve("way/b/c") + ": there is a file of that name",
          e.getMessage());
    }
    assertEquals(Set.of(file, full), Set.copyOf(present()));
    assertEquals(Map.of("mine", "mine"), read(full));
  }

  private void assertFails(String line, String command) {
    CommandException e = assertThrows(CommandException.class, () -> terminal.type(command));
    assertEquals(line, e.getMessage());
  }
}
