// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
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
          <AD id="share" type="Double" min="0" max="1" default="0.5"/>
          <AD id="tokens" type="Password" cardinality="2147483647" description="Who may"/>
          <AD id="flow" type="String" default="ROWS">
            <Option label="Rows" value="ROWS"/>
            <Option label="Columns" value="COLUMNS"/>
          </AD>
        </OCD>
        <Designate pid="io.thalamus.http"><Object ocdref="Settings"/></Designate>
      </metatype:MetaData>
      """;

  private static DeclaredSettings settings() throws Exception {
    return new DeclaredSettings(
        DeclaredSettings.read(new ByteArrayInputStream(FILE.getBytes(StandardCharsets.UTF_8))));
  }

  @Test
  void aNameThatIsNotDeclaredIsAnsweredWithThoseThatAre() throws Exception {
    assertEquals(
        Optional.of("there is no bodylimit, but bodyLimit, flow, host, port, share, tls, tokens"),
        settings().fault("bodylimit", "1"));
    assertEquals(
        Optional.of("the bundle is not installed, or has no settings"),
        new DeclaredSettings(List.of()).fault("port", "1"));
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
    "share, 1, true",
    "share, 0.25, true",
    "share, 1.01, false",
    "share, -1e-3, false",
    "share, NaN, false",
    "flow, COLUMNS, true",
    "flow, columns, false",
  })
  void aValueIsOfTheTypeOfItsSetting(String name, String value, boolean isTaken) throws Exception {
    assertEquals(isTaken, settings().fault(name, value).isEmpty());
  }

  @Test
  void aSettingIsReadWithAllThatIsSaidOfIt() throws Exception {
    Setting tokens = settings().find("tokens").orElseThrow();
    assertEquals("http.tokens", tokens.name());
    assertEquals("Who may", tokens.meaning());
    assertTrue(tokens.isList() && tokens.isSecret());
    Setting share = settings().find("share").orElseThrow();
    assertEquals("0.5", share.usual());
    assertFalse(share.isList() || share.isSecret());
    assertEquals(
        Optional.of("share is of type Double from 0 to 1, which '2' is not"), share.fault("2"));
    assertEquals(
        Optional.of("flow is of type String out of ROWS, COLUMNS, which '' is not"),
        settings().fault("flow", ""));
  }

  @Test
  void aSettingOfABundleToComeIsKnownByItsName() {
    Setting setting = Setting.unknown("my.device.threads");
    assertEquals("io.thalamus.my.device", setting.pid());
    assertEquals("threads", setting.id());
    assertEquals("my.device.threads", setting.name());
    assertEquals("simd.threads", Setting.unknown("io.thalamus.simd.threads").name());
  }
}
