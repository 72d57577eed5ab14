// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Puts together in {@code target/licences} what the licences of the distribution's parts ask for: a
 * {@code NOTICE} with each part and its licence, as its pom says, and the texts that its jar
 * carries. Fails if the bill of materials and the distribution differ, or if a part's licence is
 * missing.
 */
final class Licences {
  /** Licences whose text need not be beside each part: ours is the first, the second is none. */
  private static final List<String> KNOWN = List.of("Apache-2.0", "CC0-1.0");

  private final Path module;
  private final Path target;
  private final List<String> problems = new ArrayList<>();
  private final Set<String> embedded = new HashSet<>();

  private Licences(Path module) {
    this.module = module;
    this.target = module.resolve("target/licences");
  }

  /** A component of the bill of materials; licences by SPDX's id, or by name if it has none. */
  private record Part(String name, String version, List<String> licences, String address) {
    String jar() {
      return name + "-" + version + ".jar";
    }
  }

  public static void main(String[] args) throws Exception {
    new Licences(Path.of(args[0])).run();
  }

  private void run() throws Exception {
    delete(target);
    Files.createDirectories(target.resolve("licences"));
    Map<String, Part> parts = parts();
    List<Path> inside = inside();
    StringBuilder notice =
        new StringBuilder("Thalamus, under the Apache License 2.0 (LICENSE), with these parts:\n");
    for (Part part : parts.values()) {
      Path jar = module.resolve("target/parts").resolve(part.jar());
      if (!Files.exists(jar) || !isInside(jar, inside)) {
        problems.add(part.jar() + " stands in the bill of materials, and is not inside");
        continue;
      }
      List<String> texts = texts(part, jar);
      if (part.licences().isEmpty()) {
        problems.add(part.jar() + " has no licence in its pom");
      } else if (texts.isEmpty() && part.licences().stream().noneMatch(KNOWN::contains)) {
        problems.add(
            part.jar() + " has no text of its licence; add launcher/licences/" + part.name());
      }
      notice.append("\n%s %s\n".formatted(part.name(), part.version()));
      // A pom that says no more than BSD leaves to its text which one it is.
      Map<String, byte[]> own = own(part);
      notice.append(
          "  %s\n".formatted(String.join(", or ", own.isEmpty() ? part.licences() : own.keySet())));
      if (!part.address().isEmpty()) {
        notice.append("  %s\n".formatted(part.address()));
      }
      texts.forEach(text -> notice.append("  %s\n".formatted(text)));
    }
    for (Path jar : inside) {
      problems.add(jar.getFileName() + " is inside, and not in the bill of materials");
    }
    if (!problems.isEmpty()) {
      problems.forEach(System.err::println);
      System.exit(1);
    }
    Files.writeString(target.resolve("NOTICE"), notice);
    Files.copy(module.resolve("../LICENSE"), target.resolve("LICENSE"));
    Files.copy(module.resolve("target/bom.json"), target.resolve("licences/bom.json"));
    System.out.println("licences of " + parts.size() + " parts: " + target);
  }

  private Map<String, Part> parts() throws Exception {
    Map<String, Part> parts = new TreeMap<>();
    Element bill =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(module.resolve("target/bom.xml").toFile())
            .getDocumentElement();
    Element components = child(bill, "components");
    for (Element component : children(components, "component")) {
      if (text(component, "group").equals("io.thalamus")) {
        continue;
      }
      List<String> licences = new ArrayList<>();
      Element all = child(component, "licenses");
      if (all != null) {
        for (Element licence : children(all, "license")) {
          String id = text(licence, "id");
          licences.add(id.isEmpty() ? text(licence, "name") : id);
        }
        children(all, "expression").forEach(each -> licences.add(each.getTextContent()));
      }
      String address = "";
      Element references = child(component, "externalReferences");
      for (Element each :
          references == null ? List.<Element>of() : children(references, "reference")) {
        if (each.getAttribute("type").equals("website")) {
          address = text(each, "url");
        }
      }
      String name = text(component, "name");
      parts.put(name, new Part(name, text(component, "version"), licences, address));
    }
    return parts;
  }

  /** The jars of third parties in the distribution. */
  private List<Path> inside() throws IOException {
    try (Stream<Path> files = Files.walk(module.resolve("target/thalamus"))) {
      return new ArrayList<>(
          files
              .filter(file -> file.toString().endsWith(".jar"))
              .filter(file -> !file.getFileName().toString().startsWith("io.thalamus."))
              .filter(file -> !file.getFileName().toString().equals("launcher.jar"))
              .sorted()
              .toList());
    }
  }

  /** Returns true if the distribution has the jar, which is then done, or ours has its classes. */
  private boolean isInside(Path part, List<Path> inside) throws IOException {
    for (Path jar : inside) {
      if (Files.mismatch(part, jar) < 0) {
        inside.remove(jar);
        return true;
      }
    }
    try (JarFile jar = new JarFile(part.toFile())) {
      return jar.stream().map(ZipEntry::getName).anyMatch(embedded()::contains);
    }
  }

  /** Returns the classes of others in our own bundles. */
  private Set<String> embedded() throws IOException {
    if (embedded.isEmpty()) {
      try (Stream<Path> files = Files.walk(module.resolve("target/thalamus"))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".jar")).toList()) {
          if (file.getFileName().toString().startsWith("io.thalamus.")) {
            try (JarFile jar = new JarFile(file.toFile())) {
              jar.stream()
                  .map(ZipEntry::getName)
                  .filter(name -> name.endsWith(".class") && !name.startsWith("io/thalamus/"))
                  .forEach(embedded::add);
            }
          }
        }
      }
    }
    return embedded;
  }

  /** Copies the texts out of the jar, and ours for a jar that has none. */
  private List<String> texts(Part part, Path file) throws IOException {
    Map<String, byte[]> texts = new TreeMap<>(own(part));
    try (JarFile jar = new JarFile(file.toFile())) {
      for (ZipEntry entry : jar.stream().toList()) {
        if (entry.getName().matches("META-INF/[^/]*(LICENSE|NOTICE)[^/]*")) {
          String name = entry.getName().substring("META-INF/".length());
          texts.put(name, jar.getInputStream(entry).readAllBytes());
        }
      }
    }
    Path folder = target.resolve("licences").resolve(part.name());
    List<String> names = new ArrayList<>();
    for (Map.Entry<String, byte[]> text : texts.entrySet()) {
      Files.createDirectories(folder);
      Files.write(folder.resolve(text.getKey()), text.getValue());
      names.add(target.relativize(folder.resolve(text.getKey())).toString().replace('\\', '/'));
    }
    return names;
  }

  /** The text that stands in {@code launcher/licences}, under the licence's id. */
  private Map<String, byte[]> own(Part part) throws IOException {
    Path folder = module.resolve("licences").resolve(part.name());
    if (!Files.isDirectory(folder)) {
      return Map.of();
    }
    try (Stream<Path> files = Files.list(folder)) {
      Path file = files.findFirst().orElseThrow();
      return Map.of(file.getFileName().toString(), Files.readAllBytes(file));
    }
  }

  private static Element child(Element parent, String name) {
    List<Element> children = children(parent, name);
    return children.isEmpty() ? null : children.getFirst();
  }

  private static List<Element> children(Element parent, String name) {
    NodeList nodes = parent.getChildNodes();
    List<Element> children = new ArrayList<>();
    for (int i = 0; i < nodes.getLength(); i++) {
      if (nodes.item(i) instanceof Element element && element.getTagName().equals(name)) {
        children.add(element);
      }
    }
    return children;
  }

  private static String text(Element parent, String name) {
    Element child = child(parent, name);
    return child == null ? "" : child.getTextContent().strip();
  }

  private static void delete(Path folder) throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted((a, b) -> b.compareTo(a)).toList()) {
          Files.delete(file);
        }
      }
    }
  }
}
