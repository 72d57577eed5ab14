// SPDX-License-Identifier: Apache-2.0
/** Tests that run in a framework. */
package io.thalamus.integration;
