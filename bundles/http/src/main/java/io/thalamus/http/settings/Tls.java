// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.settings;

import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Optional;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.TrustManagerFactory;

/** TLS by the JDK's provider, with keys from PKCS12 files. */
public final class Tls {
  private Tls() {}

  /** Returns the context of the settings; empty without a key store. */
  public static Optional<SslContext> of(HttpSettings settings)
      throws IOException, GeneralSecurityException {
    Optional<SslContextBuilder> builder = builder(settings);
    return builder.isPresent() ? Optional.of(builder.get().build()) : Optional.empty();
  }

  /** Returns a context of the settings to which a protocol adds its own; empty without a store. */
  public static Optional<SslContextBuilder> builder(HttpSettings settings)
      throws IOException, GeneralSecurityException {
    if (settings.keyStore().isEmpty()) {
      if (settings.clientCertificates() || !settings.trustStore().isEmpty()) {
        throw new IOException("certificates of clients need TLS: keyStore is not set");
      }
      return Optional.empty();
    }
    char[] password = password(settings.keyStorePassword());
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store(settings.keyStore(), password), password);
    SslContextBuilder builder =
        SslContextBuilder.forServer(keys)
            .sslProvider(SslProvider.JDK)
            .protocols("TLSv1.3", "TLSv1.2");
    if (!settings.trustStore().isEmpty()) {
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store(settings.trustStore(), password(settings.trustStorePassword())));
      builder.trustManager(trust);
      builder.clientAuth(settings.clientCertificates() ? ClientAuth.REQUIRE : ClientAuth.OPTIONAL);
    } else if (settings.clientCertificates()) {
      throw new IOException("clientCertificates needs trustStore, a PKCS12 file with authorities");
    }
    return Optional.of(builder);
  }

  private static KeyStore store(String file, char[] password)
      throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(Path.of(file))) {
      store.load(in, password);
    }
    return store;
  }

  private static char[] password(String setting) throws IOException {
    return setting.startsWith("file:")
        ? Files.readString(Path.of(setting.substring(5))).strip().toCharArray()
        : setting.toCharArray();
  }

  /** Returns the common name in the client's certificate; empty without one. */
  public static Optional<String> subject(SSLSession session) {
    try {
      X509Certificate certificate = (X509Certificate) session.getPeerCertificates()[0];
      return new LdapName(certificate.getSubjectX500Principal().getName())
          .getRdns().stream()
              .filter(each -> each.getType().equalsIgnoreCase("CN"))
              .map(each -> String.valueOf(each.getValue()))
              .findFirst();
    } catch (SSLPeerUnverifiedException | InvalidNameException noName) {
      return Optional.empty();
    }
  }
}
