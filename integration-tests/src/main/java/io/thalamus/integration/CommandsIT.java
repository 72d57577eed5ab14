// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.integration.proof.Bundles;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;

/** The shell's commands, called by Gogo. */
public class CommandsIT {
  private static final Pattern BEST =
      Pattern.compile("\"top\":\\[\\{\"index\":\\d+,\"label\":\"([^\"]*)\"");

  private final BundleContext context =
      FrameworkUtil.getBundle(CommandsIT.class).getBundleContext();
  private final Path samples =
      Path.of(context.getProperty("thalamus.root")).resolve("launcher/samples/digits").normalize();
  private final Commands commands = new Commands(context);

  @AfterEach
  void close() {
    commands.close();
  }

  private String text(String command) throws Exception {
    return commands.text(command);
  }

  private String json(String command) throws Exception {
    String json = text(command + " --json");
    assertEquals(1, json.lines().count(), json);
    return json;
  }

  @Test
  void devicesAreListedAsTheyComeAndGo() throws Exception {
    assertTrue(text("nn:devices").matches("(?s)id .*\ncpu .*available.*"));
    assertFalse(text("nn:devices").contains("spare"));
    Bundles bundles = new Bundles(context);
    Bundle spare = SpareBundle.named("spare").install(context);
    try {
      assertTrue(text("nn:devices -v").contains("test-spare"));
      assertTrue(json("nn:devices").contains("\"id\":\"spare\""));
    } finally {
      bundles.uninstall(spare);
    }
    assertFalse(text("nn:devices").contains("spare"));
  }

  @Test
  void settingsAreShownAndChangedAndTakenBack() throws Exception {
    String name = "runtime.devices.answerMillis";
    assertTrue(text("nn:config runtime.devices").contains("runtime.devices.samplingRate"));
    assertTrue(json("nn:config " + name).contains("\"value\":\"10000\""));
    try {
      String changed = json("nn:config " + name + "=9000 simd.threads=1");
      assertTrue(changed.contains("\"value\":\"9000\"") && changed.contains("\"isSet\":true"));
      assertTrue(text("nn:devices").contains("simd"), "its device is back when the command ends");
      assertTrue(text("nn:config simd").contains("simd.threads  1"));
      assertThrows(Exception.class, () -> text("nn:config " + name + "=0"));
      assertThrows(Exception.class, () -> text("nn:config runtime.devices.answer=1"));
      assertTrue(json("nn:config " + name).contains("\"value\":\"9000\""));
    } finally {
      text("nn:config --reset " + name + " simd.threads");
    }
    assertTrue(json("nn:config " + name).contains("\"isSet\":false"));
  }

  @Test
  void aSettingOfADeviceToComeCountsWhenItComes() throws Exception {
    assertThrows(Exception.class, () -> text("nn:config to.come=1"));
    assertTrue(text("nn:config --ahead to.come=1").contains("to.come"));
    text("nn:config --ahead --reset to.come");
  }

  @Test
  void infoNamesOperationsInputsAndOutputs() throws Exception {
    String info = text("nn:info '" + samples.resolve("digits.tflite") + "'");
    for (String part : new String[] {"CONV_2D", "SOFTMAX", "TENSOR_QUANT8_ASYMM_SIGNED"}) {
      assertTrue(info.contains(part), info);
    }
  }

  @Test
  void everySampleDigitIsRecognizedOnEveryDevice() throws Exception {
    for (String device : new String[] {"cpu", "simd,cpu"}) {
      for (int digit = 0; digit <= 9; digit++) {
        String result =
            json(
                "nn:run '%s' '%s' --device %s"
                    .formatted(
                        samples.resolve("digits.tflite"),
                        samples.resolve("digit-" + digit + ".png"),
                        device));
        Matcher best = BEST.matcher(result);
        assertTrue(best.find(), result);
        assertEquals(Integer.toString(digit), best.group(1), result);
        assertTrue(result.contains("\"ranOn\":{\"" + device.split(",")[0] + "\":"), result);
      }
    }
  }

  @Test
  void aDeviceOfTheContainerIsCertified() throws Exception {
    // As text, ExamplesTest looks at what is said; with all packets, simd's own tests certify it.
    String json = json("nn:certify simd --random 5 --packets 1 --vectors none");
    assertTrue(
        json.matches(
            "\\{\"device\":\"thalamus-simd\",\"passed\":[1-9]\\d*,\"failed\":0,\"skipped\":\\d+,.*"),
        json);
    Exception missing = assertThrows(Exception.class, () -> text("nn:certify none"));
    assertTrue(missing.getMessage().contains("; there are: cpu, "), missing::getMessage);
  }

  @Test
  void aMistakeIsOneLineThatSaysWhatIsWrong() {
    Exception missing = assertThrows(Exception.class, () -> text("nn:run /there/is/none.tflite"));
    assertTrue(missing.getMessage().contains("/there/is/none.tflite"), missing::getMessage);
    assertEquals(1, missing.getMessage().lines().count());
    Exception option = assertThrows(Exception.class, () -> text("nn:devices --no-such-option"));
    assertTrue(option.getMessage().contains("--no-such-option"), option::getMessage);
  }
}
