// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The packages of the runtime stand above each other: their imports have no cycle. */
class PackageCyclesTest {
  private static final Path SOURCES =
      Path.of(
          System.getProperty("thalamus.root"), "bundles/runtime/src/main/java/io/thalamus/runtime");

  /** The package below the root that an import or a qualified name refers to; null for the root. */
  private static final Pattern REFERENCE =
      Pattern.compile("\\bio\\.thalamus\\.runtime\\.(?:(\\w+)\\.)?[A-Z]\\w*");

  /** Returns which packages each package refers to. */
  private static Map<String, Set<String>> references() throws IOException {
    Map<String, Set<String>> references = new TreeMap<>();
    try (Stream<Path> files = Files.walk(SOURCES)) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        String owner = SOURCES.relativize(file.getParent()).toString();
        Set<String> targets = references.computeIfAbsent(owner, name -> new TreeSet<>());
        Matcher matcher = REFERENCE.matcher(Files.readString(file));
        while (matcher.find()) {
          targets.add(matcher.group(1) == null ? "" : matcher.group(1));
        }
        targets.remove(owner);
      }
    }
    return references;
  }

  @Test
  void noPackageRefersBackToItself() throws IOException {
    Map<String, Set<String>> references = references();
    assertTrue(references.size() > 8, () -> "the sources were not found: " + references);
    // Whatever refers to nothing that is left is no part of a cycle, and is taken away.
    boolean isSmaller = true;
    while (isSmaller) {
      isSmaller =
          references
              .values()
              .removeIf(targets -> targets.stream().noneMatch(references::containsKey));
    }
    assertEquals(Map.of(), references, "packages in a cycle, or above one");
  }

  @Test
  void callsRegistryAndHealthStandInThisOrder() throws IOException {
    Map<String, Set<String>> references = references();
    assertEquals(Set.of(), references.get("events"));
    assertEquals(Set.of(), references.get("call"));
    assertEquals(Set.of("call", "events"), references.get("schedule"));
    assertEquals(Set.of("call", "events", "measurement", "schedule"), references.get("registry"));
    assertEquals(Set.of("call", "events", "registry"), references.get("health"));
  }
}
