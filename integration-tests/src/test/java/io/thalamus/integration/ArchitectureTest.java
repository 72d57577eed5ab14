// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Every built bundle against the table of {@code docs/architecture.md}. */
class ArchitectureTest {
  private static final int LONGEST_BND = 10;

  /** The packages that every bundle may import. */
  private static final List<String> FREE = List.of("java.", "javax.", "org.osgi.");

  /** What the table calls third parties, and the beginnings of their packages. */
  private static final Map<String, List<String>> THIRD_PARTIES =
      Map.ofEntries(
          Map.entry("Jackson", List.of("com.fasterxml.jackson")),
          Map.entry("FlatBuffers", List.of("com.google.flatbuffers")),
          Map.entry("Protobuf", List.of("com.google.protobuf")),
          Map.entry("Netty", List.of("io.netty")),
          Map.entry("Felix Health Checks", List.of("org.apache.felix.hc")),
          Map.entry("Gogo", List.of("org.apache.felix.service.command", "org.apache.felix.gogo")),
          Map.entry("JLine", List.of("org.jline")),
          Map.entry("File Install", List.of("org.apache.felix.fileinstall")),
          Map.entry("Vector API", List.of("jdk.incubator.vector")),
          Map.entry("Flight Recorder", List.of("jdk.jfr")),
          Map.entry("Commons CLI", List.of("org.apache.commons.cli")),
          Map.entry("HdrHistogram", List.of("org.HdrHistogram")),
          Map.entry("JUnit", List.of("org.junit")));

  private record Row(String folder, Set<String> mayImport) {
    String name() {
      return folder.substring(folder.lastIndexOf('/') + 1);
    }
  }

  private final Map<String, Row> rows = new TreeMap<>();

  ArchitectureTest() throws IOException {
    Path page = ProjectFiles.ROOT.resolve("docs/architecture.md");
    for (String line : Files.readAllLines(page)) {
      String[] cells = Arrays.stream(line.split("\\|")).map(String::strip).toArray(String[]::new);
      if (cells.length == 4 && cells[1].matches("`(bundles|backends)/\\w+`")) {
        String folder = cells[1].replace("`", "");
        Set<String> imports = new TreeSet<>(List.of(cells[3].split(", ")));
        imports.remove("-");
        rows.put(folder, new Row(folder, imports));
      }
    }
  }

  @Test
  void theTableNamesExactlyTheBundlesThatExist() throws IOException {
    assertTrue(rows.size() > 5, "the table was not understood");
    assertEquals(ProjectFiles.bundleModules().keySet(), rows.keySet());
  }

  @Test
  void theTableUsesOnlyNamesItDefines() {
    Set<String> names = new TreeSet<>(THIRD_PARTIES.keySet());
    rows.values().forEach(row -> names.add(row.name()));
    for (Row row : rows.values()) {
      for (String name : row.mayImport()) {
        assertTrue(names.contains(name), row.folder() + " may import an unknown " + name);
      }
    }
  }

  @Test
  void everyImportStandsInTheTable() throws IOException {
    List<String> breaches = new ArrayList<>();
    for (Row row : rows.values()) {
      Attributes manifest = ProjectFiles.manifest(ProjectFiles.ROOT.resolve(row.folder()));
      for (String imported : ProjectFiles.clauses(manifest.getValue("Import-Package")).keySet()) {
        if (!mayImport(row, imported)) {
          breaches.add(row.folder() + " imports " + imported);
        }
      }
    }
    assertEquals(List.of(), breaches);
  }

  private boolean mayImport(Row row, String imported) {
    if (FREE.stream().anyMatch(imported::startsWith) || isIn(imported, own(row.name()))) {
      return true;
    }
    for (String name : row.mayImport()) {
      List<String> packages = THIRD_PARTIES.getOrDefault(name, List.of(own(name)));
      if (packages.stream().anyMatch(allowed -> isIn(imported, allowed))) {
        return true;
      }
    }
    return false;
  }

  private static String own(String name) {
    return "io.thalamus." + name;
  }

  private static boolean isIn(String name, String root) {
    return name.equals(root) || name.startsWith(root + ".");
  }

  @Test
  void namesFollowTheFolder() throws IOException {
    for (Row row : rows.values()) {
      Attributes manifest = ProjectFiles.manifest(ProjectFiles.ROOT.resolve(row.folder()));
      assertEquals(own(row.name()), manifest.getValue("Bundle-SymbolicName"));
      assertEquals(own(row.name()), manifest.getValue("Automatic-Module-Name"));
      for (Map.Entry<String, String> exported :
          ProjectFiles.clauses(manifest.getValue("Export-Package")).entrySet()) {
        assertTrue(isIn(exported.getKey(), own(row.name())), row.folder() + " exports " + exported);
        assertTrue(exported.getValue().contains("version="), row.folder() + " exports " + exported);
      }
    }
  }

  /** Each module that is published, and no other, has its version in the BOM. */
  @Test
  void theBomNamesExactlyTheBundlesThatArePublished() throws IOException {
    Set<String> published = new TreeSet<>();
    for (Path module : ProjectFiles.bundleModules().values()) {
      if (!Files.readString(module.resolve("pom.xml")).contains("<release.skip>true<")) {
        published.add(own(module.getFileName().toString()));
      }
    }
    String bom = Files.readString(ProjectFiles.ROOT.resolve("cnf/bom/pom.xml"));
    Matcher managed =
        Pattern.compile("<dependency>.*<artifactId>(.*)</artifactId>.*</dependency>").matcher(bom);
    assertEquals(published, new TreeSet<>(managed.results().map(each -> each.group(1)).toList()));
  }

  @Test
  void bndFilesStaySmall() throws IOException {
    for (Path module : ProjectFiles.bundleModules().values()) {
      List<String> lines = Files.readAllLines(module.resolve("bnd.bnd"));
      assertTrue(lines.size() <= LONGEST_BND, module + "/bnd.bnd has " + lines.size() + " lines");
    }
  }

  @Test
  void clausesAreTakenApartRightly() {
    Map<String, String> clauses =
        ProjectFiles.clauses(
            "java.io,a.b;version=\"[1.0,2)\",c;resolution:=optional;uses:=\"x,y\",d.e");
    assertEquals(Set.of("java.io", "a.b", "c", "d.e"), clauses.keySet());
    assertTrue(clauses.get("c").contains("x,y"));
  }
}
