// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The places of things in the project, for tests over what the build made. */
final class ProjectFiles {
  static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  static final Path DISTRIBUTION = ROOT.resolve("launcher/target/thalamus");

  private static final Pattern JAR = Pattern.compile("io\\..*(?<!-sources|-javadoc)\\.jar");
  private static final Pattern CLAUSE =
      Pattern.compile("\\s*([^;,\\s]+)((?:;[^;,=]+=(?:\"[^\"]*\"|'[^']*'|[^;,]*))*)\\s*(?:,|$)");

  private ProjectFiles() {}

  /** Folder of each bundle, as the architecture's table writes it, to the bundle's module. */
  static Map<String, Path> bundleModules() throws IOException {
    Map<String, Path> modules = new TreeMap<>();
    for (String floor : List.of("bundles", "backends")) {
      try (Stream<Path> folders = Files.list(ROOT.resolve(floor))) {
        folders
            .filter(folder -> Files.exists(folder.resolve("pom.xml")))
            .forEach(folder -> modules.put(floor + "/" + folder.getFileName(), folder));
      }
    }
    return modules;
  }

  /** A module's built jar, without those of sources and Javadoc that a release has beside it. */
  static Path jar(Path module) throws IOException {
    List<Path> jars;
    try (Stream<Path> files = Files.list(module.resolve("target"))) {
      jars = files.filter(f -> JAR.matcher(f.getFileName().toString()).matches()).toList();
    }
    if (jars.size() != 1) {
      throw new IllegalStateException(module + " has not one built bundle but " + jars);
    }
    return jars.getFirst();
  }

  /** The manifest of a module's built bundle. */
  static Attributes manifest(Path module) throws IOException {
    try (JarFile jar = new JarFile(jar(module).toFile())) {
      return jar.getManifest().getMainAttributes();
    }
  }

  /** The clauses of a manifest header or bnd instruction: name to the text of its attributes. */
  static Map<String, String> clauses(String header) {
    Map<String, String> clauses = new TreeMap<>();
    Matcher matcher = CLAUSE.matcher(header == null ? "" : header);
    while (matcher.find()) {
      clauses.put(matcher.group(1), matcher.group(2));
    }
    return clauses;
  }

  /** Symbolic names of the {@code -runbundles} of a resolved file, with their attributes. */
  static Map<String, String> runBundles(Path bndrun) throws IOException {
    String text = Files.readString(bndrun).replaceAll("\\\\\\R", "");
    Matcher matcher = Pattern.compile("(?m)^-runbundles:(.*)$").matcher(text);
    if (!matcher.find()) {
      throw new IllegalStateException(bndrun + " is not resolved");
    }
    return clauses(matcher.group(1));
  }
}
