"""Pictures instead of pages: CIFAR-10 and a ResNet-18 under the same rules and the same two attacks."""
