// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.command;

import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.net.URL;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.osgi.framework.Bundle;

/**
 * The settings that a bundle declares for its configuration, by the OSGi Metatype files that stand
 * in it. Immutable.
 *
 * @param settings by their names
 */
record DeclaredSettings(Map<String, Setting> settings) {
  /**
   * A setting.
   *
   * @param type as Metatype names it
   * @param least the least value of a number, if there is one
   */
  record Setting(String type, Optional<BigInteger> least) {
    private boolean takes(String value) {
      return switch (type) {
        case "Integer" -> isWhole(value, Integer.SIZE);
        case "Long" -> isWhole(value, Long.SIZE);
        case "Boolean" -> value.equals("true") || value.equals("false");
        default -> true;
      };
    }

    private boolean isWhole(String value, int bits) {
      if (!value.matches("-?[0-9]{1,19}")) {
        return false;
      }
      BigInteger number = new BigInteger(value);
      return number.bitLength() < bits && (least.isEmpty() || number.compareTo(least.get()) >= 0);
    }

    private String text() {
      return type + least.map(number -> " of at least " + number).orElse("");
    }
  }

  /** Reads those of a bundle; none where there is no bundle, or none that declares any. */
  static DeclaredSettings of(Optional<Bundle> bundle) {
    Map<String, Setting> settings = new TreeMap<>();
    if (bundle.isPresent()) {
      Enumeration<URL> files = bundle.get().findEntries("OSGI-INF/metatype", "*.xml", false);
      for (URL file : files == null ? Collections.<URL>emptyList() : Collections.list(files)) {
        try (InputStream stream = file.openStream()) {
          settings.putAll(read(stream));
        } catch (IOException | XMLStreamException e) {
          throw new IllegalStateException("cannot read " + file, e);
        }
      }
    }
    return new DeclaredSettings(settings);
  }

  /** Reads one Metatype file: {@code <AD id="port" type="Integer" ...>}. */
  static Map<String, Setting> read(InputStream stream) throws XMLStreamException {
    XMLInputFactory factory = XMLInputFactory.newInstance();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    XMLStreamReader reader = factory.createXMLStreamReader(stream);
    Map<String, Setting> settings = new TreeMap<>();
    while (reader.hasNext()) {
      if (reader.next() == XMLStreamReader.START_ELEMENT && reader.getLocalName().equals("AD")) {
        settings.put(
            reader.getAttributeValue(null, "id"),
            new Setting(
                reader.getAttributeValue(null, "type"),
                Optional.ofNullable(reader.getAttributeValue(null, "min")).map(BigInteger::new)));
      }
    }
    return settings;
  }

  /** Returns what is wrong with a setting, and what there is; empty where it can be set. */
  Optional<String> fault(String name, String value) {
    Setting setting = settings.get(name);
    if (setting == null) {
      return Optional.of(
          settings.isEmpty()
              ? "the bundle is not installed, or has no settings"
              : "there is no " + name + ", but " + String.join(", ", settings.keySet()));
    }
    return setting.takes(value)
        ? Optional.empty()
        : Optional.of(name + " is of type " + setting.text() + ", which '" + value + "' is not");
  }
}
