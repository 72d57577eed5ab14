// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.host.DeviceHost;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;

/**
 * The process of a device, from within: connects to its container, serves the device, and ends with
 * the connection, whichever way that ends. Owns one thread.
 */
final class HostProcess {
  private static final int NEWLINE = '\n';

  private final BundleContext context;
  private final Path folder;

  HostProcess(BundleContext context, String folder) {
    this.context = context;
    this.folder = Path.of(folder);
  }

  /**
   * Begins to serve in the background. The device bundle is started after this has returned, with
   * its configurations.
   */
  void start() {
    try {
      DeviceConfigurations.takeOver(context, folder);
    } catch (IOException e) {
      System.err.println("the device has no configurations: " + e.getMessage());
    }
    Thread.ofPlatform().name("thalamus-host").start(this::run);
  }

  private void run() {
    int status = 1;
    try {
      serve();
      status = 0;
    } catch (IOException | DeviceException | InterruptedException e) {
      System.err.println("cannot serve: " + e);
    } finally {
      end(status);
    }
  }

  private void serve() throws IOException, DeviceException, InterruptedException {
    // The container closes this stream when it ends, and so ends what waits for the secret.
    byte[] secret = secret();
    SocketChannel channel =
        SocketChannel.open(UnixDomainSocketAddress.of(folder.resolve(DeviceProcess.SOCKET)));
    for (ByteBuffer bytes = ByteBuffer.wrap(secret); bytes.hasRemaining(); ) {
      channel.write(bytes);
    }
    ServiceTracker<Device, Device> devices = new ServiceTracker<>(context, Device.class, null);
    devices.open();
    Device device = devices.waitForService(0);
    DeviceHost host = new DeviceHost(device, channel, folder);
    host.start(properties(devices.getServiceReference()));
    host.await();
  }

  private static byte[] secret() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int next = System.in.read(); next != NEWLINE; next = System.in.read()) {
      if (next < 0 || line.length() > 2 * DeviceProcess.SECRET_SIZE) {
        throw new IOException("the container has not sent its secret");
      }
      line.append((char) next);
    }
    return HexFormat.of().parseHex(line.toString().strip());
  }

  /** Returns what the driver declares, without what the frameworks add by themselves. */
  private static Map<String, Object> properties(ServiceReference<Device> reference) {
    Map<String, Object> properties = new TreeMap<>();
    for (String name : reference.getPropertyKeys()) {
      if (!name.startsWith("service.")
          && !name.startsWith("component.")
          && !name.startsWith("objectClass")) {
        properties.put(name, reference.getProperty(name));
      }
    }
    return properties;
  }

  /**
   * Ends the process at once: nothing that a driver does may keep it. A container that was killed
   * cannot delete the folder.
   */
  private void end(int status) {
    try {
      Folders.delete(folder);
    } catch (IOException e) {
      System.err.println("cannot delete " + folder + ": " + e);
    } finally {
      Runtime.getRuntime().halt(status);
    }
  }
}
