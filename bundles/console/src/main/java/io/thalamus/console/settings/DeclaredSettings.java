// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.settings;

import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.osgi.framework.Bundle;

/**
 * The settings that bundles declare for their configurations, by the OSGi Metatype files that stand
 * in them. Immutable.
 *
 * @param settings sorted by name
 */
public record DeclaredSettings(List<Setting> settings) {
  /** The bundles of the framework's own, which the launcher sets up by framework properties. */
  private static final String FELIX = "org.apache.felix.";

  public DeclaredSettings {
    settings = settings.stream().sorted(Comparator.comparing(Setting::name)).toList();
  }

  /**
   * Returns what these bundles declare.
   *
   * @throws IllegalStateException if a bundle's file cannot be read
   */
  public static DeclaredSettings of(Bundle... bundles) {
    List<Setting> settings = new ArrayList<>();
    for (Bundle bundle : bundles) {
      if (bundle.getSymbolicName().startsWith(FELIX)) {
        continue;
      }
      Enumeration<URL> files = bundle.findEntries("OSGI-INF/metatype", "*.xml", false);
      for (URL file : files == null ? Collections.<URL>emptyList() : Collections.list(files)) {
        try (InputStream stream = file.openStream()) {
          settings.addAll(read(stream));
        } catch (IOException | XMLStreamException e) {
          throw new IllegalStateException("cannot read " + file, e);
        }
      }
    }
    return new DeclaredSettings(settings);
  }

  /**
   * Reads one Metatype file, as bnd writes it: one {@code OCD} with its {@code AD}s, and one {@code
   * Designate} behind it. Of a factory, there is not one configuration but any number: it has none.
   */
  static List<Setting> read(InputStream stream) throws XMLStreamException {
    XMLInputFactory factory = XMLInputFactory.newInstance();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    XMLStreamReader reader = factory.createXMLStreamReader(stream);
    List<Map<String, String>> attributes = new ArrayList<>();
    List<List<String>> choices = new ArrayList<>();
    String pid = null;
    while (reader.hasNext()) {
      if (reader.next() == XMLStreamReader.START_ELEMENT) {
        switch (reader.getLocalName()) {
          case "AD" -> {
            attributes.add(attributes(reader));
            choices.add(new ArrayList<>());
          }
          case "Option" -> choices.getLast().add(attributes(reader).get("value"));
          case "Designate" -> {
            Map<String, String> designate = attributes(reader);
            pid = designate.containsKey("factoryPid") ? null : designate.get("pid");
          }
          default -> {
            // It says nothing of a setting.
          }
        }
      }
    }
    List<Setting> settings = new ArrayList<>();
    for (int i = 0; pid != null && i < attributes.size(); i++) {
      settings.add(setting(pid, attributes.get(i), choices.get(i)));
    }
    return settings;
  }

  private static Map<String, String> attributes(XMLStreamReader reader) {
    Map<String, String> attributes = new HashMap<>();
    for (int i = 0; i < reader.getAttributeCount(); i++) {
      attributes.put(reader.getAttributeLocalName(i), reader.getAttributeValue(i));
    }
    return attributes;
  }

  private static Setting setting(String pid, Map<String, String> attributes, List<String> choices) {
    return new Setting(
        pid,
        attributes.get("id"),
        attributes.get("type"),
        !attributes.getOrDefault("cardinality", "0").equals("0"),
        attributes.getOrDefault("default", ""),
        attributes.getOrDefault("description", ""),
        Optional.ofNullable(attributes.get("min")).map(BigDecimal::new),
        Optional.ofNullable(attributes.get("max")).map(BigDecimal::new),
        choices);
  }

  /** Returns those of one configuration. */
  public DeclaredSettings of(String pid) {
    return new DeclaredSettings(
        settings.stream().filter(setting -> setting.pid().equals(pid)).toList());
  }

  /** Returns the setting of a name that {@link Setting#id} gives; empty if there is none. */
  public Optional<Setting> find(String id) {
    return settings.stream().filter(setting -> setting.id().equals(id)).findFirst();
  }

  /** Returns what is wrong with a setting of one configuration; empty if it can be set. */
  public Optional<String> fault(String id, String value) {
    if (settings.isEmpty()) {
      return Optional.of("the bundle is not installed, or has no settings");
    }
    Optional<Setting> setting = find(id);
    return setting.isPresent()
        ? setting.get().fault(value)
        : Optional.of(
            "there is no %s, but %s"
                .formatted(
                    id, settings.stream().map(Setting::id).collect(Collectors.joining(", "))));
  }
}
