// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeclaredSettingsTest {
  private static final String FILE =
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <metatype:MetaData xmlns:metatype="http://www.osgi.org/xmlns/metatype/v1.2.0">
        <OCD id="Settings" name="HTTP" description="Where it listens">
          <AD type="Integer" id="port" name="Port" min="0" default="8000"/>
          <AD id="bodyLimit" type="Long" name="Body limit"/>
          <AD id="tls" type="Boolean" name="TLS"/>
          <AD id="host" type="String" name="Host"/>
        </OCD>
      </metatype:MetaData>
      """;

  private static DeclaredSettings settings() throws Exception {
    return new DeclaredSettings(
        DeclaredSettings.read(new ByteArrayInputStream(FILE.getBytes(StandardCharsets.UTF_8))));
  }

  @Test
  void aNameThatIsNotDeclaredIsAnsweredWithThoseThatAre() throws Exception {
    assertEquals(
        Optional.of("there is no bodylimit, but bodyLimit, host, port, tls"),
        settings().fault("bodylimit", "1"));
    assertEquals(
        Optional.of("the bundle is not installed, or has no settings"),
        new DeclaredSettings(Map.of()).fault("port", "1"));
  }

  @ParameterizedTest
  @CsvSource({
    "port, 8000, true",
    "port, -1, false",
    "bodyLimit, -1, true",
    "port, 2147483647, true",
    "port, 2147483648, false",
    "port, 80a, false",
    "port, '', false",
    "bodyLimit, 9223372036854775807, true",
    "bodyLimit, 9223372036854775808, false",
    "bodyLimit, 99999999999999999999999999, false",
    "bodyLimit, 1e6, false",
    "tls, true, true",
    "tls, yes, false",
    "host, anything, true",
  })
  void aValueIsOfTheTypeOfItsSetting(String name, String value, boolean isTaken) throws Exception {
    assertEquals(isTaken, settings().fault(name, value).isEmpty());
  }
}
